import { describe, expect, test } from "bun:test";
import type { StorageError, StoredContent } from "@idk/storage";
import { lineOf } from "../../src/queue/record.ts";
import { checkArchive, readExchanges, type ReadFault } from "../../src/read/index.ts";
import { memoryOf } from "../../src/read/memory.ts";
import { LINE_BYTES_MAX, SEGMENT_BYTES_MAX } from "../../src/segments/limits.ts";
import { DAY, exchange, listed, type TestArchive, testArchive } from "./support.ts";

test("memory is counted for texts and for what has none", () => {
  expect(memoryOf("x".repeat(1000))).toBeGreaterThanOrEqual(2000);
  const empty = Array.from({ length: 1000 }, () => []);
  expect(memoryOf(empty)).toBeGreaterThanOrEqual(64_000);
  let deep: unknown[] = [];
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(memoryOf(deep)).toBeGreaterThanOrEqual(6_400_000);
});

test("exchanges that take more memory than their lines are counted by it", async () => {
  const archive = testArchive();
  const line = lineWith(0, arrays(100_000));
  for (let seq = 0; seq < 40; seq++) await archive.add([line], { seq, from: DAY, to: DAY });
  const failed = await listed(readExchanges(archive.store)).catch((error: unknown) => error);
  expect((failed as StorageError).code).toBe("limit");
}, 120_000);

/** Arrays as JSON, each in a list: 3 bytes and 2 values each. */
function arrays(count: number): string {
  return `[${"[],".repeat(count - 1)}[]]`;
}

/** Arrays as JSON, each in the one before. */
function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

/** The line of an exchange with another member. */
function lineWith(number: number, more: string): string {
  return JSON.stringify(exchange(number, number)).replace(/\}$/u, `,"more":${more}}`);
}

/** A line of so many bytes, its line feed included. */
function lineOfBytes(number: number, length: number): string {
  return lineWith(number, `"${"x".repeat(length - lineWith(number, '""').length - 1)}"`);
}

describe("a hostile segment is refused, and the others are read:", () => {
  test.each([
    ["a line that is too long", [lineOfBytes(1, LINE_BYTES_MAX + 1)]],
    ["lines that are too long", [1, 2].map((n) => lineOfBytes(n, SEGMENT_BYTES_MAX / 2 + 1))],
  ])("%s", async (_, lines) => {
    const archive = testArchive();
    const hostile = await archive.add(lines, { from: DAY, to: DAY + 2 });
    await archive.add([exchange(3, 3)], { seq: 1, prev: hostile, ...moment(3) });
    const error = expect.objectContaining({
      code: "format",
      message: expect.stringMatching(
        /^[0-9a-f]{64} is not a segment of a recorder: it has \d+ bytes, and with \d lines? the limit is \d+$/u,
      ),
    });
    const faults: ReadFault[] = [];
    const options = { onFault: (fault: ReadFault) => void faults.push(fault) };
    expect(await listed(readExchanges(archive.store, options))).toEqual([exchange(3, 3)]);
    expect(faults).toEqual([{ kind: "damaged", address: hostile, error }]);
    const { exchanges, problems } = await checkArchive(archive.store);
    expect(exchanges).toBe(1);
    expect(problems).toEqual([{ kind: "damaged", address: hostile, error }]);
  });

  test.each([
    ["a line of more values than any exchange has", [lineWith(1, arrays(140_000))], [3]],
    ["a line of more levels than any exchange has", [lineWith(1, nested(65))], [3]],
    ["a line more than it announces", [exchange(1, 1), exchange(2, 2)], [1, 3]],
  ])("%s", async (_, lines, left) => {
    const archive = testArchive();
    const address = await archive.add(lines, { count: 1, from: DAY, to: DAY + 2 });
    await archive.add([exchange(3, 3)], { seq: 1, prev: address, ...moment(3) });
    const faults: ReadFault[] = [];
    const options = { onFault: (fault: ReadFault) => void faults.push(fault) };
    const read = await listed(readExchanges(archive.store, options));
    expect(read.map(({ id }) => id)).toEqual(left.map((number) => exchange(number, 0).id));
    expect(faults).toEqual([{ kind: "lines", address, count: 1 }]);
  });
});

test("brackets in strings are no levels", async () => {
  const archive = testArchive();
  const text = JSON.stringify(String.raw`\"[\\"[ ${"[{".repeat(1000)}`);
  await archive.add([lineWith(1, text)], { from: DAY, to: DAY + 1 });
  expect(await listed(readExchanges(archive.store))).toHaveLength(1);
});

test("the longest lines that recorders make are read", async () => {
  const archive = testArchive();
  await archive.add([lineOfBytes(1, LINE_BYTES_MAX)], { from: DAY, to: DAY + 1 });
  const lines = [2, 3].map((number) => lineOfBytes(number, SEGMENT_BYTES_MAX / 2));
  await archive.add(lines, { seq: 1, from: DAY, to: DAY + 3 });
  const read = await listed(readExchanges(archive.store));
  expect(read.map(({ id }) => id)).toEqual([1, 2, 3].map((number) => exchange(number, 0).id));
});

test("an exchange that would be too long for readers is stored without its bodies", () => {
  const body = (length: number) => ({ size: length, type: "text/plain", text: "x".repeat(length) });
  const { request, ...rest } = exchange(1, 1);
  const made = (sent: number, received: number) => ({
    ...rest,
    request: { ...request, body: body(sent) },
    response: { status: 200, headers: [], body: body(received) },
  });
  const fits = LINE_BYTES_MAX - lineOf(made(0, 0)).length - 1;
  // Sizes have up to 8 digits.
  const half = Math.floor(fits / 2) - 7;
  const some = made(half, half);
  expect(JSON.parse(lineOf(some))).toEqual(some);
  const omitted = (size: number) => ({ size, type: "text/plain", why: "limit" });
  expect(JSON.parse(lineOf(made(5, fits)))).toEqual({
    ...rest,
    request: { ...request, body: omitted(5) },
    response: { status: 200, headers: [], body: omitted(fits) },
  });
  // Characters that take more bytes.
  const wide = { ...request, url: "\u{4e00}".repeat(LINE_BYTES_MAX / 3) };
  expect(() => lineOf({ ...rest, request: wide })).toThrow(RangeError);
});

/** A store that counts the bytes of contents that are being read, and have been, in a row. */
function watched({ store }: TestArchive) {
  const limits = new Set<number | undefined>();
  let [now, most] = [0, 0];
  const watchedBlob = (blob: StoredContent): StoredContent => ({
    ...blob,
    bytes: async (options) => {
      limits.add(options?.maxBytes);
      now += blob.size;
      most = Math.max(most, now);
      await Bun.sleep(20);
      now -= blob.size;
      return blob.bytes(options);
    },
  });
  return {
    limits,
    most: () => most,
    store: {
      ...store,
      get: async (...given: Parameters<typeof store.get>) => watchedBlob(await store.get(...given)),
    },
  };
}

test("segments are fetched a second time with the same limit, and not too much ahead", async () => {
  const archive = testArchive();
  const MIB = 2 ** 20;
  // Too many to be kept from the first pass.
  for (let number = 0; number < 9; number++) {
    await archive.add([lineOfBytes(number, 10 * MIB)], { seq: number, ...moment(number) });
  }
  const { limits, most, store } = watched(archive);
  expect(await listed(readExchanges(store))).toHaveLength(9);
  expect([...limits]).toEqual([LINE_BYTES_MAX]);
  expect(most() / MIB).toBeGreaterThan(10);
  expect(most() / MIB).toBeLessThanOrEqual(32);
}, 120_000);

function moment(number: number) {
  return { from: DAY + number, to: DAY + number };
}
