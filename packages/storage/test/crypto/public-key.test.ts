import { expect, test } from "bun:test";
import fc from "fast-check";
import { isCanonicalPublicKey, isLowOrder } from "../../src/crypto/public-key.ts";
import { allZero } from "../../src/bytes.ts";
import { portableNaCl } from "../../src/crypto/nacl/nacl-portable.ts";
import { lowOrderPoints, notCanonical } from "./low-order.ts";

const P = 2n ** 255n - 19n;

const valueOf = (bytes: Uint8Array) =>
  bytes.reduceRight((value, byte) => 256n * value + BigInt(byte), 0n);

test("a key is canonical exactly if it is below p, read little-endian", () => {
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const nearP = fc
    .tuple(
      fc.integer({ min: 0xe0, max: 0xff }),
      fc.nat(31),
      fc.constantFrom(0xff, 0xfe),
      fc.boolean(),
    )
    .map(([low, at, byte, top]) =>
      new Uint8Array(32)
        .fill(0xff)
        .with(at, byte)
        .with(0, low)
        .with(31, top ? 0xff : 0x7f),
    );
  fc.assert(
    fc.property(fc.oneof(key, nearP), (bytes) => {
      expect(isCanonicalPublicKey(bytes)).toBe(valueOf(bytes) < P);
    }),
    { numRuns: 1000 },
  );
});

test.each(Object.entries(notCanonical))("%s is not canonical", (_name, key) => {
  expect(isCanonicalPublicKey(key)).toBe(false);
});

test.each(Object.entries(lowOrderPoints))(
  "the point %s is canonical all the same",
  (_name, key) => {
    expect(isCanonicalPublicKey(key)).toBe(true);
  },
);

test.each(Object.entries(lowOrderPoints))("the point %s is of low order", (_name, key) => {
  expect(isLowOrder(key)).toBe(true);
});

test("a key is of low order exactly if a shared secret with it is zero", () => {
  const anySecret = new Uint8Array(32).fill(1);
  const canonical = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter(isCanonicalPublicKey);
  const smallOrder = fc.constantFrom(...Object.values(lowOrderPoints));
  const near = fc
    .tuple(smallOrder, fc.nat(255), fc.boolean())
    .map(([point, bit, flip]) =>
      flip ? point.with(bit >> 3, point[bit >> 3]! ^ (1 << (bit & 7))) : point,
    )
    .filter(isCanonicalPublicKey);
  fc.assert(
    fc.property(fc.oneof(canonical, near), (key) => {
      expect(isLowOrder(key)).toBe(allZero(portableNaCl.x25519(anySecret, key)));
    }),
    { numRuns: 500 },
  );
});
