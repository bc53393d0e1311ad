import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type Content, byteReader } from "../../src/content/byte-reader.ts";
import { fails, rejects } from "../format/fails.ts";
import { yielding } from "./sources.ts";

const TEXT = "grüße, 世界 👋🏽\n";
const bytes = Uint8Array.from(Buffer.from(TEXT));

let place: string;
let path: string;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "idk-content-"));
  path = join(place, "content");
  await writeFile(path, bytes);
});
afterAll(() => rm(place, { recursive: true }));

/** All of the content, and the length that the reader reported. */
async function read(content: Content): Promise<{ bytes: Uint8Array; total: number | undefined }> {
  const reader = byteReader(content);
  const into = new Uint8Array(1000);
  return { bytes: into.slice(0, await reader.fill(into)), total: reader.total };
}

const inBuffer = () => Buffer.from(`before${TEXT}after`).subarray(6, 6 + bytes.length);
const webStream = (...pieces: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });

interface Kind {
  readonly kind: string;
  readonly make: () => Content;
  readonly knowsItsLength: boolean;
}

const halves = () => [bytes.subarray(0, 7), bytes.subarray(7)];
const kinds: readonly Kind[] = [
  { kind: "text", make: () => TEXT, knowsItsLength: true },
  { kind: "a Uint8Array", make: () => bytes, knowsItsLength: true },
  { kind: "a part of a larger Buffer", make: inBuffer, knowsItsLength: true },
  { kind: "a Blob", make: () => new Blob(halves()), knowsItsLength: true },
  { kind: "a File", make: () => new File(halves(), "name"), knowsItsLength: true },
  { kind: "a file of Bun", make: () => Bun.file(path), knowsItsLength: true },
  { kind: "a ReadableStream", make: () => webStream(...halves()), knowsItsLength: false },
  { kind: "a response's body", make: () => new Response(TEXT).body!, knowsItsLength: false },
  { kind: "an async generator", make: () => yielding(halves()), knowsItsLength: false },
  { kind: "a Node stream", make: () => Readable.from(halves()), knowsItsLength: false },
  { kind: "a Node file stream", make: () => createReadStream(path), knowsItsLength: false },
];

describe.each(kinds)("$kind", ({ make, knowsItsLength }) => {
  test("is read completely", async () => {
    const whole = await read(make());
    expect(whole.bytes).toEqual(bytes);
    expect(whole.total).toBe(knowsItsLength ? bytes.length : undefined);
  });

  test("is read in portions to its end", async () => {
    const reader = byteReader(make());
    const portions: number[] = [];
    for (;;) {
      const into = new Uint8Array(3);
      const filled = await reader.fill(into);
      if (filled === 0) break;
      portions.push(...into.subarray(0, filled));
    }
    expect(portions).toEqual(Array.from(bytes));
    expect(await reader.fill(new Uint8Array(3))).toBe(0);
    expect(await reader.lookAhead(3)).toBe(0);
  });

  test("can be looked ahead without losing data", async () => {
    const reader = byteReader(make());
    expect(await reader.lookAhead(5)).toBeGreaterThanOrEqual(5);
    expect(await reader.lookAhead(1000)).toBe(bytes.length);
    const into = new Uint8Array(bytes.length);
    expect(await reader.fill(into)).toBe(bytes.length);
    expect(into).toEqual(bytes);
  });
});

const empty: readonly [string, () => Content][] = [
  ["text", () => ""],
  ["a Uint8Array", () => new Uint8Array(0)],
  ["a Blob", () => new Blob([])],
  ["a ReadableStream", () => webStream()],
  ["a generator", () => yielding([])],
  ["a generator of empty pieces", () => yielding([new Uint8Array(0), new Uint8Array(0)])],
];
test.each(empty)("%s may be empty", async (_name, make) => {
  expect((await read(make())).bytes).toHaveLength(0);
  expect(await byteReader(make()).lookAhead(1)).toBe(0);
});

describe("taking", () => {
  test("returns consecutive views of the caller's memory while there is enough", () => {
    const memory = Uint8Array.of(0, 1, 2, 3, 4, 5, 6);
    const reader = byteReader(memory.subarray(1));
    expect(reader.take(2)).toEqual(Uint8Array.of(1, 2));
    const view = reader.take(3)!;
    expect(view).toEqual(Uint8Array.of(3, 4, 5));
    expect(view.buffer).toBe(memory.buffer);
    expect(reader.take(2)).toBeUndefined();
    expect(reader.take(1)).toEqual(Uint8Array.of(6));
    expect(reader.take(1)).toBeUndefined();
  });

  test("continues after a fill", async () => {
    const reader = byteReader(Uint8Array.of(1, 2, 3));
    await reader.fill(new Uint8Array(1));
    expect(reader.take(2)).toEqual(Uint8Array.of(2, 3));
  });

  test("returns what was looked ahead of a stream, in memory that is not overwritten", async () => {
    const piece = Uint8Array.of(1, 2, 3, 4);
    const reader = byteReader(yielding([piece, Uint8Array.of(5, 6, 7, 8, 9)]));
    expect(reader.take(1)).toBeUndefined();
    await reader.lookAhead(4);
    piece.fill(0);
    const view = reader.take(3)!;
    expect(reader.take(2)).toBeUndefined();
    await reader.lookAhead(6);
    expect(reader.take(6)).toEqual(Uint8Array.of(4, 5, 6, 7, 8, 9));
    expect(view).toEqual(Uint8Array.of(1, 2, 3));
    expect(reader.take(1)).toBeUndefined();
  });
});

describe("usage is the code of", () => {
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["number", 5],
    ["boolean", true],
    ["bigint", 5n],
    ["function", () => bytes],
    ["Object", { length: 3 }],
    ["Array", [bytes]],
    ["ArrayBuffer", bytes.buffer],
    ["DataView", new DataView(bytes.buffer)],
    ["Uint16Array", new Uint16Array(2)],
    ["Promise", Promise.resolve(bytes)],
    ["Map", new Map()],
    ["String", Object("text") as unknown],
    ["Response", new Response(TEXT)],
  ])("%s, and the message names it", (name, content) => {
    fails(() => byteReader(content as Content), "usage", `got ${name}`);
  });

  test.each<[string, unknown]>([
    ["string", "text"],
    ["number", 5],
    ["null", null],
    ["undefined", undefined],
    ["ArrayBuffer", new ArrayBuffer(4)],
    ["Uint16Array", new Uint16Array(4)],
    ["Array", [1, 2]],
  ])("a stream that yields %s", async (name, wrong) => {
    const pieces = [bytes, wrong] as Uint8Array[];
    for (const content of [yielding(pieces), webStream(...pieces)]) {
      const reader = byteReader(content);
      await rejects(reader.lookAhead(1000), "usage", `yielded ${name}`);
    }
    const reader = byteReader(yielding(pieces));
    await rejects(reader.fill(new Uint8Array(1000)), "usage", `yielded ${name}`);
  });

  test("a Node stream of text", async () => {
    const reader = byteReader(Readable.from(["text"], { objectMode: true }));
    await rejects(reader.fill(new Uint8Array(10)), "usage", "yielded string");
  });

  test("a stream that is already being read", () => {
    const stream = webStream(bytes);
    stream.getReader();
    fails(() => byteReader(stream), "usage", "already being read");
  });
});

test("without revealing what a wrong stream yielded", async () => {
  const reader = byteReader(yielding(["hunter2"]) as unknown as Content);
  const error = await rejects(reader.fill(new Uint8Array(10)), "usage");
  expect(error.message).not.toContain("hunter2");
});
