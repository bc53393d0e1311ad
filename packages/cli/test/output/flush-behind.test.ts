import { expect, test } from "bun:test";
import { flushBehind } from "../../src/output/flush-behind.ts";

/** An output whose writes end when they are told to. */
function gatedOutput() {
  const ends: { readonly ok: () => void; readonly fail: (error: Error) => void }[] = [];
  const flush = () =>
    new Promise<void>((resolve, reject) => void ends.push({ ok: resolve, fail: reject }));
  return { ends, out: { flush } };
}

test("results that complete during a write share the next one", async () => {
  const { ends, out } = gatedOutput();
  const flushing = flushBehind(out);
  flushing.start();
  flushing.start();
  flushing.start();
  expect(ends).toHaveLength(1);
  ends[0]!.ok();
  await Bun.sleep(1);
  expect(ends).toHaveLength(2);
  let settled = false;
  const settling = flushing.settled().then(() => (settled = true));
  await Bun.sleep(1);
  expect(settled).toBe(false);
  ends[1]!.ok();
  await settling;
  flushing.start();
  expect(ends).toHaveLength(3);
});

test("the error of a write is thrown by what comes next", async () => {
  const { ends, out } = gatedOutput();
  const flushing = flushBehind(out);
  flushing.start();
  ends[0]!.fail(new Error("no space"));
  const error: unknown = await flushing.settled().catch((reason: unknown) => reason);
  expect(error).toEqual(new Error("no space"));
  expect(() => flushing.start()).toThrow("no space");
  expect(ends).toHaveLength(1);
});
