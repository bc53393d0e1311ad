/*
 * Counts the bytes that go into hash functions of the runtime. Loaded before anything else, where a
 * round counts rather than measures time.
 *
 * Covered, whatever the algorithm: `createHash` and `createHmac` of `node:crypto`, however they were
 * imported, because their prototypes are what is changed; `Bun.CryptoHasher`; `crypto.subtle.digest`.
 * Not covered: other threads; hashing within another function of the runtime, as in HKDF, scrypt and
 * TLS; the one-shot `hash` of `node:crypto`; hashing by JavaScript or by native modules. @idk/storage
 * hashes by `Bun.CryptoHasher` under Bun, derived keys as well, and the S3 client its requests by
 * `createHash`.
 */
import { Hash, Hmac, subtle } from "node:crypto";

let hashed = 0;

/** Since the process started, on its main thread. */
export function hashedBytes(): number {
  return hashed;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function counting(owner: object, name: string, dataAt: number, encodingAt?: number): void {
  const original = Reflect.get(owner, name) as Method;
  const counted: Method = function counted(...args) {
    const encoding = encodingAt === undefined ? undefined : args[encodingAt];
    hashed += lengthOf(args[dataAt], encoding);
    return Reflect.apply(original, this, args);
  };
  // By assignment, which is allowed also where Bun lets nothing be redefined.
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

counting(Hash.prototype, "update", 0, 1);
counting(Hmac.prototype, "update", 0, 1);
counting(Bun.CryptoHasher.prototype, "update", 0, 1);
counting(Bun.CryptoHasher, "hash", 1);
counting(Object.getPrototypeOf(subtle) as object, "digest", 1);
