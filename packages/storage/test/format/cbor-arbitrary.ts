import fc from "fast-check";
import type { CborMap } from "../../src/format/cbor.ts";
import type { ItemT } from "./independent-cbor.ts";

/** Short and long texts, because RFC 8949 heads change at 24 and 256 bytes. */
const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 20, maxLength: 300 }) },
  { weight: 1, arbitrary: fc.constantFrom("__proto__", "constructor", "toString", "size", "") },
);

const uint: fc.Arbitrary<number> = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(70_000),
  fc.constantFrom(0, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1),
);

const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.uint8Array({ minLength: 250, maxLength: 260 }),
);

const flat = fc.array(fc.tuple(text, fc.oneof(text, uint, bytes)), { maxLength: 30 });

/** Any map of the profile: two levels deep, keys in any order. */
export const cborMap: fc.Arbitrary<CborMap> = fc
  .array(
    fc.tuple(
      text,
      fc.oneof(
        text,
        uint,
        bytes,
        flat.map((entries): CborMap => new Map(entries)),
      ),
    ),
    {
      maxLength: 30,
    },
  )
  .map((entries) => new Map(entries));

const integer: fc.Arbitrary<number> = fc.oneof(
  uint,
  fc.maxSafeInteger(),
  fc.constantFrom(
    -1,
    -24,
    -25,
    -256,
    -257,
    -65_536,
    -65_537,
    -(2 ** 32),
    -(2 ** 32) - 1,
    -(2 ** 53) + 1,
  ),
);

/** Any value of CBOR-T, up to six levels deep. */
export const cborItem: fc.Arbitrary<ItemT> = itemOfDepth(6);

function itemOfDepth(depth: number): fc.Arbitrary<ItemT> {
  const scalar = fc.oneof(text, integer, bytes, fc.constant(null));
  if (depth === 0) return scalar;
  const inner = itemOfDepth(depth - 1);
  return fc.oneof(
    { weight: 2, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(inner, { maxLength: 3 }) },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.tuple(text, inner), { maxLength: 3 })
        .map((entries) => new Map(entries)),
    },
    // Beyond 23 items, the head has another length.
    { weight: 1, arbitrary: fc.array(scalar, { minLength: 20, maxLength: 30 }) },
  );
}
