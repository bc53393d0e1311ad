import type { Backend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { expect, test } from "bun:test";
import { probe } from "../../src/stores/probe.ts";

/** A store that has stored the test blob although the write fails. */
function takingThenFailing(inner: Backend, fail: () => Error): Backend {
  return {
    ...inner,
    async put(...given) {
      await inner.put(...given);
      throw fail();
    },
  };
}

test.each([
  ["an interruption", true],
  ["a fault of the program", false],
])("removes a written test blob after %s", async (_, interrupted) => {
  const inner = memory();
  const controller = new AbortController();
  const reason = new Error("enough");
  const backend = takingThenFailing(inner, () => {
    if (interrupted) controller.abort(reason);
    return reason;
  });
  expect(await probe(backend, controller.signal).catch((error: unknown) => error)).toBe(reason);
  expect(await Array.fromAsync(inner.list(""))).toEqual([]);
});

test("limits the time to remove it after an interruption", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const controller = new AbortController();
  const backend: Backend = {
    ...takingThenFailing(memory(), () => {
      controller.abort();
      return new Error("enough");
    }),
    delete: async (_, options) => void signals.push(options?.signal),
  };
  await probe(backend, controller.signal).catch(() => undefined);
  const [signal] = signals;
  expect(signals).toHaveLength(1);
  // A new signal, because the command's has fired already.
  expect(signal?.aborted).toBe(false);
});

test.each([
  [undefined, undefined],
  [false, false],
  [true, true],
])("whether versions are kept: %p is %p", async (versions, expected) => {
  const found = { verifiesChecksums: true, conditionalPut: true, versions };
  const backend: Backend = { ...memory(), capabilities: async () => found };
  expect(await probe(backend, new AbortController().signal)).toMatchObject({ versions: expected });
});
