import { expect, test } from "bun:test";
import { sampleMicro } from "../../src/harness/micro.ts";

const task = (run: () => unknown) => ({ name: "t", series: "s", run });

test("a micro task is run 64 times at the least, and keeps its samples", async () => {
  let runs = 0;
  const [measured] = await sampleMicro([task(() => runs++)], { seconds: 0 });
  expect(measured!.samples.length).toBeGreaterThanOrEqual(64);
  expect(measured!.samples.length).toBeLessThan(runs);
  expect(measured!.samples).toEqual(measured!.samples.toSorted((a, b) => a - b));
  expect(measured!.distribution.least).toBe(measured!.samples[0]!);
});

test("samples are seconds", async () => {
  const [measured] = await sampleMicro([task(() => Bun.sleepSync(2))], { seconds: 0 });
  expect(measured!.distribution.p50).toBeGreaterThan(0.0015);
  expect(measured!.distribution.p50).toBeLessThan(1);
});

test("a micro task that fails is the end of it", async () => {
  let runs = 0;
  const failing = task(() => {
    if (++runs === 20) throw new Error("disk is full");
  });
  expect(await sampleMicro([failing], { seconds: 0 }).catch(String)).toBe("Error: disk is full");
});

test("a signal ends it", async () => {
  const aborter = new AbortController();
  let runs = 0;
  const aborting = task(() => {
    if (++runs === 90) aborter.abort(new Error("enough"));
  });
  const sampling = sampleMicro([aborting], { seconds: 60, signal: aborter.signal });
  expect(await sampling.catch(String)).toBe("Error: enough");
});
