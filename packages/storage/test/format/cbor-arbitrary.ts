import fc from "fast-check";
import type { CborMap } from "../../src/format/cbor.ts";

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
