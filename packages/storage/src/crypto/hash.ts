import { hkdf as nobleHkdf } from "@noble/hashes/hkdf.js";
import { hmac as nobleHmac } from "@noble/hashes/hmac.js";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { scryptAsync as nobleScrypt } from "@noble/hashes/scrypt.js";
import { nodeCrypto } from "./node-crypto.ts";
import { utf8 } from "../bytes.ts";

/** The hash functions of the format. All results are 32 bytes long. */
export interface Hashes {
  /** SHA-256, FIPS 180-4. */
  sha256(...parts: readonly Uint8Array[]): Uint8Array;
  /** SHA-256 of bytes that come one after another. */
  startSha256(): Hashing;
  /** HMAC-SHA-256, RFC 2104. */
  hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array;
  /** HKDF-SHA-256, RFC 5869, for 32 bytes. */
  hkdf(key: Uint8Array, salt: Uint8Array, info: string): Uint8Array;
  /** scrypt, RFC 7914, with r = 8 and p = 1, for 32 bytes. Takes 1024·N bytes of memory. */
  scrypt(passphrase: Uint8Array, salt: Uint8Array, logN: number): Promise<Uint8Array>;
}

/** A hash that is being computed. */
export interface Hashing {
  /** Adds the bytes that come next. */
  update(bytes: Uint8Array): void;
  /** The 32 bytes of the hash. Call it once, at the end. */
  digest(): Uint8Array;
}

const SCRYPT_R = 8;

/** OpenSSL or BoringSSL through `node:crypto`: about ten times as fast as JavaScript. */
export function nodeHashes(crypto: NonNullable<ReturnType<typeof nodeCrypto>>): Hashes {
  return {
    sha256(...parts) {
      const hash = crypto.createHash("sha256");
      for (const part of parts) hash.update(part);
      return hash.digest();
    },
    startSha256: () => crypto.createHash("sha256"),
    hmac(key, ...parts) {
      const hmac = crypto.createHmac("sha256", key);
      for (const part of parts) hmac.update(part);
      return hmac.digest();
    },
    hkdf: (key, salt, info) => new Uint8Array(crypto.hkdfSync("sha256", key, salt, info, 32)),
    scrypt: (passphrase, salt, logN) =>
      new Promise((resolve, reject) => {
        const N = 2 ** logN;
        // Node's default limit is 32 MiB; the format's largest N takes 1 GiB.
        const maxmem = 256 * N * SCRYPT_R;
        crypto.scrypt(passphrase, salt, 32, { N, r: SCRYPT_R, p: 1, maxmem }, (error, key) => {
          if (error) reject(error);
          else resolve(key);
        });
      }),
  };
}

/** The same BoringSSL through Bun's own API, which needs no module to be loaded. */
export function bunHashes(CryptoHasher: typeof Bun.CryptoHasher): Hashes {
  const digestOf = (hasher: Bun.CryptoHasher, parts: readonly Uint8Array[]): Uint8Array => {
    for (const part of parts) hasher.update(part);
    return hasher.digest();
  };
  const hmac: Hashes["hmac"] = (key, ...parts) => digestOf(new CryptoHasher("sha256", key), parts);
  return {
    sha256: (...parts) => {
      // A hasher is memory that waits for the garbage collector, 1 KiB each: much for many small files.
      if (parts.length === 1) return CryptoHasher.hash("sha256", parts[0]!);
      return digestOf(new CryptoHasher("sha256"), parts);
    },
    startSha256: () => new CryptoHasher("sha256"),
    hmac,
    // 32 bytes are exactly the first block, and an empty salt is equivalent to zeros.
    hkdf: (key, salt, info) =>
      hmac(hmac(salt.length === 0 ? NO_SALT : salt, key), utf8(info), FIRST_BLOCK),
    scrypt: (...call) => nodeHashes(nodeCrypto()!).scrypt(...call),
  };
}

const NO_SALT = new Uint8Array(32);
const FIRST_BLOCK = Uint8Array.of(1);

/** @noble/hashes, for runtimes without `node:crypto`. */
export const portableHashes: Hashes = {
  sha256(...parts) {
    const hash = nobleSha256.create();
    for (const part of parts) hash.update(part);
    return hash.digest();
  },
  startSha256: () => nobleSha256.create(),
  hmac(key, ...parts) {
    const hmac = nobleHmac.create(nobleSha256, key);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  },
  hkdf: (key, salt, info) => nobleHkdf(nobleSha256, key, salt, utf8(info), 32),
  scrypt: (passphrase, salt, logN) => {
    const N = 2 ** logN;
    return nobleScrypt(passphrase, salt, {
      N,
      r: SCRYPT_R,
      p: 1,
      dkLen: 32,
      maxmem: 256 * N * SCRYPT_R,
    });
  },
};

const hashes = hashesOfRuntime();

function hashesOfRuntime(): Hashes {
  if (typeof Bun !== "undefined") return bunHashes(Bun.CryptoHasher);
  const crypto = nodeCrypto();
  return crypto ? nodeHashes(crypto) : portableHashes;
}

/** `H(x)`: the SHA-256 (FIPS 180-4) of the parts one after the other, 32 bytes. */
export const sha256: Hashes["sha256"] = hashes.sha256;
/** The same for parts that come one after another. */
export const startSha256: Hashes["startSha256"] = hashes.startSha256;
/** `MAC(S, x)`: HMAC-SHA-256 (RFC 2104) of the parts one after the other under a key, 32 bytes. */
export const hmac: Hashes["hmac"] = hashes.hmac;
/** `KDF(k, s, i)`: HKDF-SHA-256 (RFC 5869) of key, salt, which may be empty, and info, 32 bytes. */
export const hkdf: Hashes["hkdf"] = hashes.hkdf;
export const scrypt: Hashes["scrypt"] = hashes.scrypt;
