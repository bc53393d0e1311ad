import { expect, test } from "bun:test";
import fc from "fast-check";
import { referenceAt, referenceCount, writeReference } from "../../src/format/tree.ts";

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const reference = fc.record({
  address: bytes32.map((bytes) => Buffer.from(bytes).toString("hex")),
  contentKey: bytes32,
});

test("references round-trip, each at its index", () => {
  fc.assert(
    fc.property(fc.array(reference, { maxLength: 20 }), (references) => {
      const bytes = new Uint8Array(references.length * 64);
      for (const [i, reference] of references.entries()) writeReference(bytes, i, reference);
      expect(referenceCount(bytes)).toBe(references.length);
      expect(references.map((_, i) => referenceAt(bytes, i))).toEqual(references);
      const laidOut = references.flatMap((r) => [Buffer.from(r.address, "hex"), r.contentKey]);
      expect(Buffer.from(bytes)).toEqual(Buffer.concat(laidOut));
    }),
  );
});

test("a reference's key is a view", () => {
  const bytes = new Uint8Array(128);
  referenceAt(bytes, 1).contentKey.fill(7);
  expect(Array.from(bytes)).toEqual([...Array(96).fill(0), ...Array(32).fill(7)]);
});
