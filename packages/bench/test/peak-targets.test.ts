import { expect, test } from "bun:test";
import { isMet } from "../src/measure.ts";
import { peakTargets } from "../src/peak-targets.ts";

test("a long stream may peak a tenth above the shortest, by the medians of the runs", () => {
  const peaks = new Map([
    [2048, [130, 110, 500]],
    [256, [100, 90, 120]],
    [1024, [110, 110, 110]],
  ]);
  const [middle, long, ...others] = peakTargets("get", peaks);
  expect(others).toEqual([]);
  expect(middle).toMatchObject({ name: "get of 1024 MiB: times the peak of 256 MiB", value: 1.1 });
  expect(isMet(middle!)).toBe(true);
  expect(long!.value).toBeCloseTo(1.3, 10);
  expect(isMet(long!)).toBe(false);
});

test("one size has nothing to be compared with", () => {
  expect(peakTargets("put", new Map([[256, [100]]]))).toEqual([]);
});
