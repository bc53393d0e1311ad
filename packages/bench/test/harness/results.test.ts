import { expect, test } from "bun:test";
import { describePair, lookup, measurementOf, pairOf } from "../../src/harness/results.ts";
import type { Measurement } from "../../src/report/report.ts";

const measured = (name: string, seconds: readonly number[]): Measurement =>
  measurementOf(
    { name, series: "s" },
    seconds.map((each) => ({ seconds: each })),
  );

test("keeps the CPU time of each sample and the largest peak, and omits unknown values", () => {
  const samples = [
    { seconds: 3, cpuSeconds: 1, peakRss: 10 },
    { seconds: 1, cpuSeconds: 2, peakRss: 30, heap: 7 },
  ];
  expect(measurementOf({ name: "m", series: "s" }, samples)).toMatchObject({
    samples: [3, 1],
    cpuSamples: [1, 2],
    peakRss: 30,
    heap: 7,
  });
  expect(Object.keys(measured("m", [1]))).toEqual(["name", "series", "samples", "distribution"]);
});

test("computes the distribution before thinning samples", () => {
  const { samples, distribution } = measured(
    "m",
    Array.from({ length: 30_001 }, (_, i) => i),
  );
  expect(samples).toHaveLength(1000);
  expect(samples.slice(0, 3)).toEqual([0, 30, 60]);
  expect(distribution.most).toBe(30_000);
});

test("pairs the samples of each round", () => {
  const base = measured("base", [1, 2, 3, 4]);
  const head = measured("head", [1.5, 2.5, 3.5, 4.5]);
  const pair = pairOf("p", base, head);
  expect(pair.deltas).toEqual([0.5, 0.5, 0.5, 0.5]);
  expect(pair).toMatchObject({ name: "p", base: "base", head: "head", meanDelta: 0.5 });
  expect(pair.interval).toEqual({ low: 0.5, high: 0.5, confidence: 0.95 });
  expect(pair.overhead).toBeCloseTo(0.2, 10);
  expect(pair.verdict).toStartWith("head is slower than base by 500 ms on average, or 20.0 %");
});

test("rejects pairs of different or too few samples", () => {
  const [one, two] = [measured("one", [1]), measured("two", [1, 2])];
  expect(() => pairOf("p", one, two)).toThrow(RangeError);
  expect(() => pairOf("p", one, one)).toThrow(RangeError);
});

test("measurements are found by name", () => {
  expect(lookup([measured("m", [1])])("m").name).toBe("m");
  expect(() => lookup([])("m")).toThrow("nothing was measured as m");
});

const pair = { base: "plain", head: "encrypted" };
const interval = (low: number, high: number) => ({ low, high, confidence: 0.95 });

test("an interval that includes zero is no measurable difference", () => {
  expect(
    describePair({
      ...pair,
      meanDelta: 0.001,
      interval: interval(-0.0005, 0.0025),
      overhead: 0.01,
    }),
  ).toBe("the 95 % interval, −500 µs to 2.50 ms, includes zero: no measurable difference");
});

test("otherwise the verdict has the slower one and its overhead relative to the faster one", () => {
  expect(
    describePair({ ...pair, meanDelta: 0.02, interval: interval(0.01, 0.03), overhead: 0.25 }),
  ).toBe(
    "encrypted is slower than plain by 20.0 ms on average, or 25.0 % (95 % interval of the difference: 10.0 ms to 30.0 ms)",
  );
  expect(
    describePair({ ...pair, meanDelta: -1.5, interval: interval(-2, -1), overhead: -0.2 }),
  ).toStartWith("plain is slower than encrypted by 1.50 s on average, or 25.0 %");
});
