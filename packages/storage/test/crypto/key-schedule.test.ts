import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import fc from "fast-check";
import {
  BODY_NONCE,
  bodyKeyOf,
  commitmentOf,
  convergentChildKey,
  convergentRootKeys,
  randomKey,
} from "../../src/crypto/key-schedule.ts";

const K = Uint8Array.from({ length: 32 }, (_, i) => i);
const S = Uint8Array.from({ length: 32 }, (_, i) => 255 - i);

/** The notation of the format, through node:crypto. */
const H = (...parts: Uint8Array[]) =>
  crypto.createHash("sha256").update(Buffer.concat(parts)).digest();
const KDF = (k: Uint8Array, s: Uint8Array, i: string) =>
  Buffer.from(crypto.hkdfSync("sha256", k, s, Buffer.from(i, "ascii"), 32));
const MAC = (S: Uint8Array, ...x: (string | Uint8Array)[]) =>
  crypto
    .createHmac("sha256", S)
    .update(Buffer.concat(x.map((part) => Buffer.from(part as Uint8Array))))
    .digest();

const same = (actual: Uint8Array, expected: Uint8Array) =>
  expect(Buffer.from(actual).toString("hex")).toBe(Buffer.from(expected).toString("hex"));

test("the commitment is derived from the content key alone", () => {
  same(commitmentOf(K), KDF(K, new Uint8Array(0), "idk/v1/commit"));
});

test.each(["root", "node", "leaf"] as const)("the body of a %s has a key of its own", (kind) => {
  const prefix = Buffer.from("IDK\u0001 and a header");
  same(bodyKeyOf(K, prefix, kind), KDF(K, H(prefix), `idk/v1/${kind}`));
});

test("the nonce of a body is 24 zero bytes", () => {
  expect(BODY_NONCE).toEqual(new Uint8Array(24));
});

describe("in convergent writing", () => {
  test.each(["node", "leaf"] as const)("the key of a %s follows from its plaintext", (kind) => {
    fc.assert(
      fc.property(fc.uint8Array(), (plaintext) => {
        same(convergentChildKey(S, kind, plaintext), MAC(S, `idk/v1/conv/${kind}`, H(plaintext)));
      }),
    );
  });

  test("the keys of a root follow from its recipients and its plaintext", () => {
    const publicKeys = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 5 });
    fc.assert(
      fc.property(publicKeys, fc.uint8Array(), (publicKeys, plaintext) => {
        const x = Buffer.concat([H(...publicKeys), H(plaintext)]);
        const keys = convergentRootKeys(S, publicKeys, plaintext);
        same(keys.contentKey, MAC(S, "idk/v1/conv/root", x));
        same(keys.ephemeralSecret, MAC(S, "idk/v1/conv/esk", x));
      }),
    );
  });
});

test("random keys are 32 bytes and do not repeat", () => {
  const keys = Array.from({ length: 100 }, randomKey);
  expect(keys.every((key) => key.length === 32)).toBe(true);
  expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(100);
});
