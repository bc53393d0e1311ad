import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ByteReader, type Content, byteReader } from "../../src/content/byte-reader.ts";
import { yielding } from "./sources.ts";

/** The calls that a store makes on a reader, in any order. */
type Step = { readonly lookAhead: number } | { readonly fill: number } | { readonly take: number };

const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 12 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.nat(40).map((lookAhead) => ({ lookAhead })),
    fc.nat(25).map((fill) => ({ fill })),
    fc.nat(25).map((take) => ({ take })),
  ),
  { maxLength: 25 },
);

const nothing = new Uint8Array(0);

/** Runs the steps, checks each result against the whole content, and reads the rest. */
async function walk(reader: ByteReader, whole: Uint8Array, steps: readonly Step[]): Promise<void> {
  let at = 0;
  const fill = async (length: number) => {
    const into = new Uint8Array(length);
    const filled = await reader.fill(into);
    expect(filled).toBe(Math.min(length, whole.length - at));
    expect(into.subarray(0, filled)).toEqual(whole.slice(at, at + filled));
    expect(into.subarray(filled).every((byte) => byte === 0)).toBe(true);
    at += filled;
  };
  for (const step of steps) {
    if ("lookAhead" in step) {
      const ahead = await reader.lookAhead(step.lookAhead);
      expect(ahead).toBeGreaterThanOrEqual(Math.min(step.lookAhead, whole.length - at));
      expect(ahead).toBeLessThanOrEqual(whole.length - at);
    } else if ("take" in step) {
      const taken = reader.take(step.take);
      expect(taken ?? nothing).toEqual(whole.slice(at, at + (taken?.length ?? 0)));
      if (taken) expect(taken).toHaveLength(step.take);
      at += taken?.length ?? 0;
    } else {
      await fill(step.fill);
    }
  }
  await fill(whole.length + 1);
}

/** Yields every piece in the same memory, as readers of files do to save allocations. */
async function* reusing(
  pieces: readonly Uint8Array[],
  memory: Uint8Array,
): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    memory.fill(0xdd);
    memory.set(piece);
    yield memory.subarray(0, piece.length);
  }
  memory.fill(0xdd);
}

/** A web stream that fills the memory it is given. */
function byteStream(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = pieces.filter((piece) => piece.length > 0);
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      const piece = left.shift();
      if (piece) controller.enqueue(piece.slice());
      else controller.close();
    },
  });
}

const ways: readonly [string, (pieces: readonly Uint8Array[]) => Content][] = [
  ["bytes in memory", (pieces) => Buffer.concat(pieces)],
  ["a Blob", (pieces) => new Blob(pieces.map((piece) => piece.slice()))],
  ["a generator", (pieces) => yielding(pieces)],
  ["a generator that uses a Uint8Array again", (pieces) => reusing(pieces, new Uint8Array(20))],
  ["a generator that uses a Buffer again", (pieces) => reusing(pieces, Buffer.alloc(20))],
  ["a web stream", (pieces) => new Response(Buffer.concat(pieces)).body ?? yielding([])],
  ["a web stream of bytes", byteStream],
];

describe.each(ways)("%s", (_name, contentOf) => {
  test("yields its bytes in order, for any pieces and any portions", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, steps, (pieces, steps) =>
        walk(byteReader(contentOf(pieces)), Uint8Array.from(Buffer.concat(pieces)), steps),
      ),
      { numRuns: 200 },
    );
  });
});

test.each([
  ["a Uint8Array", () => new Uint8Array(20)],
  ["a Buffer", () => Buffer.alloc(20)],
] as const)(
  "what was looked at ahead is safe from a source that uses %s again",
  async (_name, memory) => {
    const parts = [1, 2, 3, 4].map((value) => new Uint8Array(20).fill(value));
    const reader = byteReader(reusing(parts, memory()));
    expect(await reader.lookAhead(50)).toBe(60);
    const into = new Uint8Array(80);
    expect(await reader.fill(into)).toBe(80);
    expect(Buffer.compare(into, Buffer.concat(parts))).toBe(0);
  },
);

test("pulls no more from a source than is requested", async () => {
  let yielded = 0;
  async function* counting() {
    for (;;) {
      yielded += 1;
      yield new Uint8Array(10);
    }
  }
  const reader = byteReader(counting());
  expect(yielded).toBe(0);
  expect(await reader.lookAhead(0)).toBe(0);
  expect(yielded).toBe(0);
  expect(await reader.lookAhead(11)).toBe(20);
  expect(await reader.fill(new Uint8Array(20))).toBe(20);
  expect(yielded).toBe(2);
  expect(await reader.fill(new Uint8Array(0))).toBe(0);
  expect(yielded).toBe(2);
  expect(await reader.fill(new Uint8Array(1))).toBe(1);
  expect(await reader.fill(new Uint8Array(9))).toBe(9);
  expect(yielded).toBe(3);
});

test("reads long content in linear time", async () => {
  const piece = new Uint8Array(1000).fill(7);
  const reader = byteReader(yielding(Array<Uint8Array>(20_000).fill(piece)));
  const start = performance.now();
  expect(await reader.lookAhead(20_000_000)).toBe(20_000_000);
  const into = new Uint8Array(20_000_000);
  expect(await reader.fill(into)).toBe(20_000_000);
  expect(performance.now() - start).toBeLessThan(3000);
  expect(into.indexOf(0)).toBe(-1);
});
