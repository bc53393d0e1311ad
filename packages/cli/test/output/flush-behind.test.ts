import { expect, test } from "bun:test";
import { flushBehind } from "../../src/output/flush-behind.ts";

/** An output whose writes end when they are told to. */
function gatedOutput() {
  const ends: { readonly ok: () => void; readonly fail: (error: Error) => void }[] = [];
  const flush = () =>
    new Promise<void>((resolve, reject) => void ends.push({ ok: resolve, fail: reject }));
  return { ends, out: { flush } };
}

test("results that complete during a write, and soon after it, share the next one", async () => {
  const { ends, out } = gatedOutput();
  const flushing = flushBehind(out);
  flushing.start();
  flushing.start();
  expect(ends).toHaveLength(1);
  const ended = performance.now();
  ends[0]!.ok();
  await Promise.resolve();
  for (let result = 0; result < 5; result++) flushing.start();
  while (ends.length < 2) await Bun.sleep(1);
  expect(performance.now() - ended).toBeGreaterThan(9);
  ends[1]!.ok();
  await Bun.sleep(30);
  expect(ends).toHaveLength(2);
  flushing.start();
  expect(ends).toHaveLength(3);
});

test("what is left is written at once at the end", async () => {
  const { ends, out } = gatedOutput();
  const flushing = flushBehind(out);
  flushing.start();
  ends[0]!.ok();
  await Promise.resolve();
  flushing.start();
  let settled = false;
  const settling = flushing.settled().then(() => (settled = true));
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(ends).toHaveLength(2);
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
