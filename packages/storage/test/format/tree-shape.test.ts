import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type ShapeClaim,
  type TreeShape,
  checkedShape,
  inlineShape,
  leavesBelow,
  plaintextLength,
  storedChildren,
  treeShape,
} from "../../src/format/tree.ts";

const MiB = 2 ** 20;
const MAX = 2 ** 53 - 1;
const WIDEST = 4096;

const chunkLog2 = fc.integer({ min: 18, max: 24 });
const paddedLength = fc
  .tuple(fc.maxSafeNat(), fc.nat(32))
  .map(([value, bits]) => Math.max(MiB + 1, Math.floor(value / 2 ** bits)));

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/** The plaintext lengths of one level; all of them if there are few. */
function lengths(shape: TreeShape, level: number): number[] {
  return Array.from({ length: shape.counts[level - 1]! }, (_, i) =>
    plaintextLength(shape, level, i),
  );
}

describe("the shape of a tree", () => {
  const C = 2 ** 18;
  test.each([
    ["one leaf", 2 ** 22, 2 ** 22, [1]],
    ["one leaf and a byte", 2 ** 22 + 1, 2 ** 22, [2]],
    ["one leaf less a byte", 2 ** 22 - 1, 2 ** 22, [1]],
    ["4095 leaves and a byte", 4095 * C + 1, C, [4096]],
    ["4096 leaves", 4096 * C, C, [4096]],
    ["4097 leaves", 4096 * C + 1, C, [4097, 2]],
    ["4096² leaves", 4096 ** 2 * C, C, [4096 ** 2, 4096]],
    ["4096² leaves and a byte", 4096 ** 2 * C + 1, C, [4096 ** 2 + 1, 4097, 2]],
    ["the longest stream in the smallest chunks", MAX, C, [2 ** 35, 2 ** 23, 2048]],
    ["the longest stream in the largest chunks", MAX, 2 ** 24, [2 ** 29, 2 ** 17, 32]],
  ])("%s", (_name, paddedLength, chunkSize, counts) => {
    expect(treeShape(paddedLength, chunkSize)).toEqual({
      paddedLength,
      chunkSize,
      depth: counts.length,
      counts,
    });
  });

  test("every level covers the one below with no node too many, and only the top fits into the root", () => {
    fc.assert(
      fc.property(paddedLength, chunkLog2, (paddedLength, k) => {
        const shape = treeShape(paddedLength, 2 ** k)!;
        let below = (BigInt(paddedLength) + 2n ** BigInt(k) - 1n) >> BigInt(k);
        for (const [i, count] of shape.counts.entries()) {
          expect(BigInt(count)).toBe(below);
          const isTop = i === shape.depth - 1;
          expect(count <= WIDEST).toBe(isTop);
          below = (below + 4095n) / 4096n;
        }
      }),
    );
  });

  test("four levels are too many", () => {
    expect(treeShape(WIDEST ** 3, 1)?.counts).toEqual([WIDEST ** 3, WIDEST ** 2, WIDEST]);
    expect(treeShape(WIDEST ** 3 + 1, 1)).toBeUndefined();
  });

  test("inline content has no tree", () => {
    expect(inlineShape(5)).toEqual({ paddedLength: 5, chunkSize: 0, depth: 0, counts: [] });
    expect(storedChildren(inlineShape(5))).toEqual({ blobs: 0, bytes: 0 });
  });

  test("a blob covers 4096 times the leaves of one on the level below", () => {
    expect([1, 2, 3].map(leavesBelow)).toEqual([1, 4096, 4096 ** 2]);
  });
});

describe("the length of a blob", () => {
  const few = fc
    .tuple(fc.integer({ min: MiB + 1, max: 6000 * 2 ** 18 }), fc.constant(2 ** 18))
    .map(([length, chunk]) => treeShape(length, chunk)!);

  test("adds up to the stream on the leaves, and to the references on the nodes", () => {
    fc.assert(
      fc.property(few, (shape) => {
        expect(sum(lengths(shape, 1))).toBe(shape.paddedLength);
        for (let level = 2; level <= shape.depth; level++) {
          expect(sum(lengths(shape, level))).toBe(shape.counts[level - 2]! * 64);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("is full for all but the last of a level, which is never empty", () => {
    fc.assert(
      fc.property(
        paddedLength,
        chunkLog2,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, k, at) => {
          const shape = treeShape(n, 2 ** k)!;
          for (const [i, count] of shape.counts.entries()) {
            const full = i === 0 ? 2 ** k : WIDEST * 64;
            const last = plaintextLength(shape, i + 1, count - 1);
            expect(last).toBeGreaterThan(0);
            expect(last).toBeLessThanOrEqual(full);
            const other = Math.floor(at * (count - 1));
            if (other < count - 1) expect(plaintextLength(shape, i + 1, other)).toBe(full);
            const whole = i === 0 ? BigInt(n) : BigInt(shape.counts[i - 1]!) * 64n;
            expect(BigInt(count - 1) * BigInt(full) + BigInt(last)).toBe(whole);
          }
        },
      ),
    );
  });

  test("is right at the end of the longest stream", () => {
    const shape = treeShape(MAX, 2 ** 18)!;
    expect(plaintextLength(shape, 1, 2 ** 35 - 1)).toBe(2 ** 18 - 1);
    expect(plaintextLength(shape, 2, 2 ** 23 - 1)).toBe(WIDEST * 64);
  });

  test("plus 59 bytes per blob gives the stored size", () => {
    fc.assert(
      fc.property(few, (shape) => {
        const all = shape.counts.flatMap((_, i) => lengths(shape, i + 1));
        expect(storedChildren(shape)).toEqual({
          blobs: all.length,
          bytes: sum(all) + 59 * all.length,
        });
      }),
      { numRuns: 30 },
    );
  });
});

describe("a claim", () => {
  /** The claim of a conforming writer. */
  function honest(contentLength: number, padding: number, k: number): ShapeClaim {
    if (contentLength <= MiB) return { depth: 0, chunkLog2: 0, contentLength, padding: 0 };
    const leaves = Math.ceil((contentLength + padding) / 2 ** k);
    const depth = leaves <= WIDEST ? 1 : leaves <= WIDEST ** 2 ? 2 : 3;
    return { depth, chunkLog2: k, contentLength, padding };
  }

  test("of a conforming writer is accepted", () => {
    const lengths = fc
      .tuple(paddedLength, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([n, share]) => [n, Math.min(MAX - n, Math.floor(n * share))] as const);
    fc.assert(
      fc.property(lengths, chunkLog2, ([n, p], k) => {
        const claim = honest(n, p, k);
        const shape = checkedShape(claim);
        expect(shape).toEqual(treeShape(n + p, 2 ** k));
        expect(shape?.counts).toHaveLength(claim.depth);
      }),
    );
  });

  test.each([0, 1, MiB - 1, MiB])("of %d inline bytes is accepted", (length) => {
    expect(checkedShape(honest(length, 0, 22))).toEqual(inlineShape(length));
  });

  test.each([0, 1, 2, 3, 4, 5])(
    "of a depth of %d is believed only where it is the right one",
    (depth) => {
      for (const leaves of [5, WIDEST, WIDEST + 1, WIDEST ** 2, WIDEST ** 2 + 1]) {
        const claim = honest(leaves * 2 ** 18, 0, 18);
        const shape = checkedShape({ ...claim, depth });
        expect(shape !== undefined).toBe(depth === claim.depth);
      }
    },
  );

  test("of any other chunk size is rejected", () => {
    for (let k = 0; k <= 64; k++) {
      const claim = { ...honest(MiB + 1, 0, 22), chunkLog2: k };
      expect(checkedShape(claim) !== undefined).toBe(k >= 18 && k <= 24);
    }
  });

  const tree = honest(5 * MiB, 0, 22);
  const inline = honest(MiB, 0, 0);
  test.each<[string, ShapeClaim, Partial<ShapeClaim>]>([
    ["padding longer than content", tree, { padding: 5 * MiB + 1 }],
    ["a stream of 2^53", tree, { depth: 3, contentLength: 2 ** 52, padding: 2 ** 52 }],
    ["a stream far above 2^53", tree, { depth: 3, contentLength: MAX, padding: MAX }],
    ["content of 2^53 - 1 with padding", tree, { depth: 3, contentLength: MAX, padding: 1 }],
    ["a tree for 1 MiB", tree, { contentLength: MiB }],
    ["a tree for one byte", tree, { contentLength: 1 }],
    ["a tree for nothing", tree, { contentLength: 0 }],
    ["a tree for 1 MiB, padded", tree, { contentLength: MiB, padding: 1 }],
    ["a chunk size of inline content", inline, { chunkLog2: 22 }],
    ["padding of inline content", inline, { padding: 1 }],
    ["inline content above 1 MiB", inline, { contentLength: MiB + 1 }],
    [
      "inline content above 1 MiB with a chunk size",
      inline,
      { contentLength: MiB + 1, chunkLog2: 22 },
    ],
    ["a depth in a billion", tree, { depth: 1e9 }],
  ])("of %s is rejected", (_name, believed, change) => {
    expect(checkedShape(believed)).toBeDefined();
    expect(checkedShape({ ...believed, ...change })).toBeUndefined();
  });

  test("of padding as long as the content is accepted", () => {
    expect(checkedShape({ ...tree, padding: 5 * MiB })?.counts).toEqual([3]);
  });
});
