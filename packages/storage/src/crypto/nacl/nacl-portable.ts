import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import nacl from "tweetnacl";
import { KEY_LENGTH } from "../../format/limits.ts";
import { concat, fromHex } from "../../bytes.ts";
import type { Ed25519, NaCl } from "./nacl.ts";
import { nodeCrypto } from "../node-crypto.ts";

/**
 * JavaScript, which runs anywhere: noble's XSalsa20-Poly1305, and tweetnacl's X25519 where there is no
 * `node:crypto`, which is 40 times faster (docs/decisions/0002).
 */
export const portableNaCl: NaCl = {
  name: "portable",
  seal(box, message, nonce, key) {
    box.set(xsalsa20poly1305(key, nonce).encrypt(message));
  },
  open(message, box, nonce, key) {
    const cipher = xsalsa20poly1305(key, nonce);
    try {
      message.set(cipher.decrypt(box));
      return true;
    } catch (error) {
      // Memory that is lacking says nothing about the message.
      if (error instanceof RangeError) throw error;
      return false;
    }
  },
  x25519: (...keys) => agreement().x25519(...keys),
  publicKey: (secretKey) => agreement().publicKey(secretKey),
  get ed25519() {
    const crypto = nodeCrypto();
    return crypto && nodeEd25519(crypto);
  },
};

type X25519 = Pick<NaCl, "x25519" | "publicKey">;

let loaded: X25519 | undefined;

function agreement(): X25519 {
  if (loaded === undefined) {
    const crypto = nodeCrypto();
    loaded = crypto ? nodeX25519(crypto) : tweetX25519();
  }
  return loaded;
}

export function tweetX25519(): X25519 {
  return {
    x25519: (secretKey, publicKey) => nacl.scalarMult(secretKey, publicKey),
    publicKey: (secretKey) => nacl.scalarMult.base(secretKey),
  };
}

type Crypto = NonNullable<ReturnType<typeof nodeCrypto>>;

/**
 * Raw keys of a curve in `node:crypto`: in DER (RFC 8410), the only form that every version of it accepts.
 *
 * @param oid the last byte of the curve's identifier
 */
function derKeys(crypto: Crypto, oid: string) {
  const pkcs8 = fromHex(`302e020100300506032b65${oid}04220420`);
  const spki = fromHex(`302a300506032b65${oid}032100`);
  const secret = (key: Uint8Array) =>
    crypto.createPrivateKey({ key: Buffer.from(concat(pkcs8, key)), format: "der", type: "pkcs8" });
  return {
    secret,
    public: (key: Uint8Array) =>
      crypto.createPublicKey({ key: Buffer.from(concat(spki, key)), format: "der", type: "spki" }),
    publicOf(key: Uint8Array): Uint8Array {
      const der = crypto.createPublicKey(secret(key)).export({ format: "der", type: "spki" });
      return new Uint8Array(der.subarray(spki.length));
    },
  };
}

export function nodeX25519(crypto: Crypto): X25519 {
  const keys = derKeys(crypto, "6e");
  return {
    x25519(secretKey, publicKey) {
      const peer = keys.public(publicKey);
      try {
        return crypto.diffieHellman({ privateKey: keys.secret(secretKey), publicKey: peer });
      } catch {
        // OpenSSL rejects low-order points itself; `NaCl.x25519` returns all zero for them.
        return new Uint8Array(32);
      }
    },
    publicKey: keys.publicOf,
  };
}

function nodeEd25519(crypto: Crypto): Ed25519 {
  const keys = derKeys(crypto, "70");
  return {
    publicKey: keys.publicOf,
    sign: (seed, message) => new Uint8Array(crypto.sign(null, message, keys.secret(seed))),
    verify(publicKey, message, signature) {
      // DER would take a key with more bytes.
      if (publicKey.length !== KEY_LENGTH) return false;
      try {
        return crypto.verify(null, message, keys.public(publicKey), signature);
      } catch {
        // A key that is not on the curve.
        return false;
      }
    },
  };
}
