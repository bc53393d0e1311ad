import type { Backend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { expect, test } from "bun:test";
import { probe } from "../../src/stores/probe.ts";

/** A store that has taken the probe when the writing of it fails. */
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
])("a probe that the store has taken goes, also after %s", async (_, interrupted) => {
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

test("removing it after an interruption has an end", async () => {
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
  // Of its own: that of the command has fired already.
  expect(signal?.aborted).toBe(false);
});
