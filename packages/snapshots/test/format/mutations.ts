import fc from "fast-check";

/** Bytes with one place changed: a byte, a cut, a repetition or an insertion. */
export function mutated(bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const CBOR_HEADS = [0, 1, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xf6, 0xff];
  return fc
    .tuple(
      bytes,
      fc.nat(),
      fc.constantFrom("flip", "set", "cut", "drop", "insert", "append", "repeat"),
      fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(...CBOR_HEADS)),
    )
    .map(([original, place, how, value]) => {
      const at = place % Math.max(1, original.length);
      const [before, after] = [original.subarray(0, at), original.subarray(at)];
      switch (how) {
        case "flip":
        case "set": {
          const copy = new Uint8Array(original);
          copy[at] = how === "set" ? value : (copy[at] ?? 0) ^ value;
          return copy;
        }
        case "cut":
          return new Uint8Array(before);
        case "drop":
          return new Uint8Array(Buffer.concat([before, after.subarray(1)]));
        case "insert":
          return new Uint8Array(Buffer.concat([before, Uint8Array.of(value), after]));
        case "append":
          return new Uint8Array(Buffer.concat([original, Uint8Array.of(value)]));
        case "repeat":
        default:
          return new Uint8Array(Buffer.concat([before, after.subarray(0, 8), after]));
      }
    });
}
