import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import nacl from "tweetnacl";
import { concat, fromHex } from "../../bytes.ts";
import type { NaCl } from "./nacl.ts";
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

/** DER around a raw key (RFC 8410): the only form that every version of `node:crypto` accepts. */
const PKCS8 = fromHex("302e020100300506032b656e04220420");
const SPKI = fromHex("302a300506032b656e032100");

export function nodeX25519(crypto: NonNullable<ReturnType<typeof nodeCrypto>>): X25519 {
  const secret = (key: Uint8Array) =>
    crypto.createPrivateKey({ key: Buffer.from(concat(PKCS8, key)), format: "der", type: "pkcs8" });
  return {
    x25519(secretKey, publicKey) {
      const peer = crypto.createPublicKey({
        key: Buffer.from(concat(SPKI, publicKey)),
        format: "der",
        type: "spki",
      });
      try {
        return crypto.diffieHellman({ privateKey: secret(secretKey), publicKey: peer });
      } catch {
        // OpenSSL rejects low-order points itself; `NaCl.x25519` returns all zero for them.
        return new Uint8Array(32);
      }
    },
    publicKey(secretKey) {
      const der = crypto.createPublicKey(secret(secretKey)).export({ format: "der", type: "spki" });
      return new Uint8Array(der.subarray(SPKI.length));
    },
  };
}
