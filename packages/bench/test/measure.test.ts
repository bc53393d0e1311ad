import {
  type Sample,
  fitLine,
  interleavedSamples,
  isMet,
  median,
  rotated,
  spread,
  summarize,
} from "../src/measure.ts";
import { expect, test } from "bun:test";

test("medians of odd and even numbers of values, in any order", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([9, 1, 5, 7])).toBe(6);
  expect(spread([3, 1, 2], 1)).toBe("2.0 (1.0 to 3.0)");
});

test("a summary takes each median by itself", () => {
  const samples = [
    { seconds: 1, cpuSeconds: 30, peakMib: 200 },
    { seconds: 2, cpuSeconds: 10, peakMib: 300 },
    { seconds: 3, cpuSeconds: 20, peakMib: 100 },
  ];
  expect(summarize(samples)).toEqual({
    seconds: 2,
    cpuSeconds: 20,
    peakMib: 200,
    all: [1, 2, 3],
  });
});

test("rounds begin with another task each, and the first one does not count", async () => {
  const order: string[] = [];
  const task =
    (name: string) =>
    async (round: number): Promise<Sample> => {
      order.push(`${name}${round}`);
      return { seconds: round, cpuSeconds: 0, peakMib: 0 };
    };
  const samples = await interleavedSamples(2, { a: task("a"), b: task("b") });
  expect(order).toEqual(["a-1", "b-1", "b0", "a0", "a1", "b1"]);
  expect(samples.a.map(({ seconds }) => seconds)).toEqual([0, 1]);
  expect(samples.b).toHaveLength(2);
  expect(rotated([1, 2, 3], 4)).toEqual([2, 3, 1]);
});

test("a target has a least or a most, and reaching it is enough", () => {
  expect(isMet({ name: "", value: 2, least: 2 })).toBe(true);
  expect(isMet({ name: "", value: 1.99, least: 2 })).toBe(false);
  expect(isMet({ name: "", value: 1.25, most: 1.25 })).toBe(true);
  expect(isMet({ name: "", value: 1.26, most: 1.25 })).toBe(false);
  expect(isMet({ name: "", value: Number.NaN, least: 2 })).toBe(false);
});

test("a line through points has their slope, and an error where they stray", () => {
  const xs = [1, 2, 3, 4];
  expect(fitLine(xs, [5, 7, 9, 11])).toEqual({ slope: 2, error: 0 });
  // By hand: residuals of 0.2 and 0.6 around a slope of 0.2, so √(0.8 / 2 / 5).
  const { slope, error } = fitLine(xs, [0, 1, 0, 1]);
  expect(slope).toBeCloseTo(0.2, 10);
  expect(error).toBeCloseTo(Math.sqrt(0.08), 10);
});
