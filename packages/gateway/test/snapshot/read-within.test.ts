import { expect, test } from "bun:test";
import { createBudget } from "../../src/objects/memory/budget.ts";
import { readWithin } from "../../src/snapshot/read-within.ts";
import { failureOf } from "../objects/support.ts";

const PACK = 4 * 2 ** 20;

/** A file of packs, whose bytes are the numbers of their packs. Counts those that are open. */
function fileOf(packs: number) {
  const state = { open: 0, most: 0 };
  return {
    state,
    size: packs * PACK,
    async *read(start: number): AsyncGenerator<Uint8Array> {
      state.open += 1;
      state.most = Math.max(state.most, state.open);
      try {
        for (let at = start; at < packs * PACK;) {
          const pack = Math.floor(at / PACK);
          const piece = new Uint8Array((pack + 1) * PACK - at).fill(pack);
          at += piece.length;
          yield piece;
        }
      } finally {
        state.open -= 1;
      }
    },
  };
}

const TIMES = { slice: 50, stall: 20 };

test("many reads at once have no more memory than the budget", async () => {
  const budget = createBudget(12 * PACK, TIMES);
  const file = fileOf(3);
  let length = 0;
  const readAll = async (): Promise<void> => {
    const range = { start: 0, end: file.size };
    for await (const piece of readWithin(budget, file.read, range)) {
      expect(budget.used()).toBeLessThanOrEqual(budget.bytes);
      length += piece.length;
    }
  };
  await Promise.all(Array.from({ length: 20 }, readAll));
  expect(length).toBe(20 * file.size);
  expect(file.state).toEqual({ open: 0, most: 3 });
  expect(budget.used()).toBe(0);
});

test("a client that stalls gives its memory back, and goes on later", async () => {
  const budget = createBudget(4 * PACK, TIMES);
  const file = fileOf(3);
  const range = { start: 10, end: file.size };
  const slow = readWithin(budget, file.read, range);
  const pieces = [(await slow.next()).value as Uint8Array];
  let other = 0;
  for await (const piece of readWithin(budget, file.read, range)) other += piece.length;
  expect(other).toBe(file.size - 10);
  expect(budget.used()).toBe(0);
  for await (const piece of slow) pieces.push(piece);
  const all = Buffer.concat(pieces);
  expect(all.length).toBe(file.size - 10);
  expect([all[0], all[PACK - 10], all.at(-1)]).toEqual([0, 1, 2]);
});

test("a read that has begun waits for memory without a limit", async () => {
  const budget = createBudget(2 * PACK, TIMES);
  const file = fileOf(1);
  const range = { start: 0, end: file.size };
  const reading = readWithin(budget, file.read, range, { memoryWaitMs: 50 });
  let length = (await reading.next()).value!.length;
  // The client stalls, and another call takes all of the memory for longer than the limit.
  const other = await budget.acquire({ least: 2 * PACK, most: 2 * PACK });
  const refused = readWithin(budget, file.read, range, { memoryWaitMs: 50 }).next();
  const rest = (async () => {
    for await (const piece of reading) length += piece.length;
  })();
  expect(await failureOf(refused)).toMatchObject({ code: "SlowDown" });
  await Bun.sleep(50);
  other.release();
  await rest;
  expect(length).toBe(file.size);
});

test("a file that is too short is no end", async () => {
  const file = fileOf(1);
  const read = readWithin(createBudget(PACK), file.read, { start: 0, end: PACK + 1 });
  const outcome = (async () => {
    for await (const _ of read);
  })();
  expect(await outcome.catch((error: unknown) => error)).toEqual(
    new Error("the file is shorter than announced"),
  );
});
