import { expect, test } from "bun:test";
import type { StorageError } from "@idk/storage";
import { readExchanges } from "../../src/read/index.ts";
import { memoryOf } from "../../src/read/memory.ts";
import { SEGMENT_MAX } from "../../src/read/segments.ts";
import { DAY, exchange, listed, testArchive } from "./support.ts";

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
  // 3 bytes for each array in the line.
  const many = `[${"[],".repeat(1_200_000)}[]]`;
  const line = JSON.stringify(exchange(1, 0)).replace(/\}$/u, `,"more":${many}}`);
  for (let seq = 0; seq < 4; seq++) await archive.add([line], { seq, from: DAY, to: DAY });
  const failed = await listed(readExchanges(archive.store)).catch((error: unknown) => error);
  expect((failed as StorageError).code).toBe("limit");
}, 30_000);

test("segments are fetched a second time with the same limit", async () => {
  const archive = testArchive();
  // Too many to be kept from the first pass.
  const body = { size: 1, type: "text/plain", text: "x".repeat(900_000) };
  for (let seq = 0; seq < 40; seq++) {
    const response = { status: 200, headers: [], body };
    await archive.add([exchange(seq, seq, { response })], { seq, from: DAY + seq, to: DAY + seq });
  }
  const limits: (number | undefined)[] = [];
  const { store } = archive;
  const watched = {
    ...store,
    get: async (...given: Parameters<typeof store.get>) => {
      const blob = await store.get(...given);
      return {
        ...blob,
        bytes: (options: Parameters<typeof blob.bytes>[0]) => {
          limits.push(options?.maxBytes);
          return blob.bytes(options);
        },
      };
    },
  };
  expect(await listed(readExchanges(watched))).toHaveLength(40);
  expect(limits.length).toBeGreaterThan(0);
  expect(new Set(limits)).toEqual(new Set([SEGMENT_MAX]));
}, 30_000);
