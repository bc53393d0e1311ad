import { expect, test } from "bun:test";
import { runMany } from "../../src/blobs/run-many.ts";
import { BrokenPipe } from "../../src/errors/failures.ts";
import type { ItemFailures } from "../../src/errors/item-failures.ts";
import type { Session } from "../../src/session.ts";

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
  const options = { concurrency: 3, failures, nameOf: String, onDone: () => {} };
  const error: unknown = await runMany([0, 1, 2], work, options, session).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BrokenPipe);
  expect(ended).toBe(2);
});
