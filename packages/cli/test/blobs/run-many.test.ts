import { expect, test } from "bun:test";
import { runMany } from "../../src/blobs/run-many.ts";
import { BrokenPipe } from "../../src/errors/failures.ts";
import type { ItemFailures } from "../../src/errors/item-failures.ts";
import type { Session } from "../../src/session.ts";

const itemFailures = {
  add: async (_: string, error: unknown) => {
    throw error;
  },
} as unknown as ItemFailures;
const optionsOf = (failures: ItemFailures) => ({
  concurrency: 3,
  failures,
  nameOf: String,
  onDone: () => {},
});
/** Fails with the second item, once a write of the first has begun. */
const failingSecond = async (item: number): Promise<void> => {
  if (item === 0) return;
  await Bun.sleep(20);
  throw new Error("the store is gone");
};

test("the error of an item stays that of the run if a write fails afterwards", async () => {
  const flush = async (): Promise<void> => {
    await Bun.sleep(60);
    throw new BrokenPipe();
  };
  const { signal } = new AbortController();
  const session = { out: { flush }, signal } as unknown as Session;
  const run = runMany([0, 1], failingSecond, optionsOf(itemFailures), session);
  expect(run).rejects.toThrow("the store is gone");
  await run.catch(() => {});
});

test("after an interrupt nothing waits for a reader that reads no more", async () => {
  const interrupt = new AbortController();
  const flush = () => new Promise<void>(() => {});
  const session = { out: { flush }, signal: interrupt.signal } as unknown as Session;
  const work = (item: number, stop: AbortSignal): Promise<void> =>
    item === 0
      ? Promise.resolve()
      : new Promise((_, reject) => {
          stop.addEventListener("abort", () => reject(new Error("interrupted")));
        });
  const run = runMany([0, 1], work, optionsOf(itemFailures), session);
  setTimeout(() => interrupt.abort(), 20);
  const outcome = await Promise.race([run.catch((error: Error) => error.message), Bun.sleep(2000)]);
  expect(outcome).toBe("interrupted");
});

test("a write that fails ends what is in flight, and is the error of the run", async () => {
  const flush = async (): Promise<void> => {
    throw new BrokenPipe();
  };
  const signal = new AbortController().signal;
  const session = { out: { flush }, signal } as unknown as Session;
  const failures = { add: async () => {} } as unknown as ItemFailures;
  let ended = 0;
  const work = (item: number, stop: AbortSignal): Promise<void> =>
    item === 0
      ? Promise.resolve()
      : new Promise((_, reject) => {
          stop.addEventListener("abort", () => {
            ended += 1;
            reject(new Error("aborted"));
          });
        });
  const error: unknown = await runMany([0, 1, 2], work, optionsOf(failures), session).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BrokenPipe);
  expect(ended).toBe(2);
});
