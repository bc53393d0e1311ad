import type { Backend } from "@idk/storage";
import { expect, test } from "bun:test";
import { memory } from "@idk/storage/memory";
import { probe } from "../src/probe.ts";

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
