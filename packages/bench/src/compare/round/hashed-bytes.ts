/*
 * Counts the bytes passed to hash functions of the runtime, once `watchHashing` was called.
 *
 * Covered for all algorithms: `createHash` and `createHmac` of `node:crypto`, however they are imported,
 * because their prototypes are patched; `Bun.CryptoHasher`, and the one-shot `hash` of `node:crypto`, which
 * calls it; `crypto.subtle.digest`. Not covered: other threads; hashing inside HKDF, scrypt and TLS; hashing
 * in JavaScript or native modules. Under Bun, @idk/storage hashes with `Bun.CryptoHasher`, also to derive
 * keys, and the S3 client hashes requests with `createHash`.
 */
import { Hash, Hmac, subtle } from "node:crypto";

let hashed = 0;

/** Patches the hash functions. Returns a function that counts the bytes hashed on this thread since. */
export function watchHashing(): () => number {
  counting(Hash.prototype, "update", 0, 1);
  counting(Hmac.prototype, "update", 0, 1);
  counting(Bun.CryptoHasher.prototype, "update", 0, 1);
  counting(Bun.CryptoHasher, "hash", 1);
  counting(Object.getPrototypeOf(subtle) as object, "digest", 1);
  return () => hashed;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function counting(owner: object, name: string, dataAt: number, encodingAt?: number): void {
  const original = Reflect.get(owner, name) as Method;
  const counted: Method = function counted(...args) {
    const encoding = encodingAt === undefined ? undefined : args[encodingAt];
    hashed += lengthOf(args[dataAt], encoding);
    return Reflect.apply(original, this, args);
  };
  // By assignment, because Bun does not allow redefining some of these properties.
  if (!Reflect.set(owner, name, counted)) throw new TypeError(`${name} cannot be counted`);
}

function lengthOf(data: unknown, encoding: unknown): number {
  if (typeof data === "string") {
    return Buffer.byteLength(data, typeof encoding === "string" ? (encoding as "utf8") : "utf8");
  }
  const { byteLength } = Object(data) as { byteLength?: unknown };
  if (typeof byteLength === "number") return byteLength;
  throw new TypeError(`cannot tell how many bytes of a ${typeof data} are hashed`);
}
