import { expect, test } from "bun:test";
import { measurementOf } from "../../src/harness/results.ts";
import type { Measurement } from "../../src/report/report.ts";
import { spreadTarget } from "../../src/suites/processor/hash-perf.ts";
import { runTiny } from "./run-tiny.ts";

test("measures every size with each hash, and small blobs", async () => {
  const { measurements, targets } = await runTiny("hash-perf", [200_000, 300_000], {
    iterations: 2,
  });
  expect(measurements.map(({ name }) => name)).toEqual([
    "addressOf 200 KB",
    "bare createHash 200 KB",
    "addressOf 300 KB",
    "bare createHash 300 KB",
    "addressOf 1 KB",
    "addressOf 100 KB",
    "SHA-256 incremental 200 KB",
    "SHA-1 200 KB",
    "SHA-512 200 KB",
    "SHA-256 incremental 300 KB",
    "SHA-1 300 KB",
    "SHA-512 300 KB",
  ]);
  expect(targets).toHaveLength(7);
  expect(measurements[0]!.samples.length).toBeGreaterThanOrEqual(2);
});

/** Hashed at 1 GB per CPU second, with elapsed time multiplied by other load. */
function crowded(bytesPerOperation: number, times: number, cpuSeconds: number): Measurement {
  const sample = { seconds: (bytesPerOperation / 1e9) * times, cpuSeconds };
  const name = `${bytesPerOperation}`;
  const samples = Array.from({ length: 5 }, () => sample);
  return measurementOf({ name, series: name, bytesPerOperation }, samples);
}

const even = [crowded(1e6, 1, 0.001), crowded(1e8, 1, 0.1)];
const twice = [crowded(1e6, 1, 0.001), crowded(1e8, 1, 0.2)];
const fiveTimes = [crowded(1e6, 1, 0.001), crowded(1e8, 1, 0.5)];

test("other load does not increase the spread, CPU time does", () => {
  const spread = (...measurements: Measurement[]) => spreadTarget(measurements, even).value;
  expect(spread(crowded(1e6, 1, 0.001), crowded(1e8, 7, 0.1))).toBeCloseTo(0, 10);
  expect(spread(crowded(1e6, 1, 0.001), crowded(1e8, 1, 0.2))).toBeCloseTo(0.5 / 0.75, 10);
});

test("a spread is missed unless the machine has the same with a bare hash", () => {
  expect(spreadTarget(twice, even)).toMatchObject({ verdict: "missed", most: 0.5 });
  expect(spreadTarget(twice, twice).verdict).toBe("met");
  expect(spreadTarget(fiveTimes, twice).verdict).toBe("missed");
});
