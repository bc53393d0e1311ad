import { expect, test } from "bun:test";
import { distributionOf, median, percentile } from "../../src/statistics/describe.ts";

test("median of odd and even numbers of values, in any order", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([9, 1, 5, 7])).toBe(6);
  expect(median([10, 9, 1])).toBe(9);
});

test("percentile interpolates between the two nearest values", () => {
  expect(percentile([10, 30, 20], 0)).toBe(10);
  expect(percentile([10, 30, 20], 0.75)).toBe(25);
  expect(percentile([10, 30, 20], 1)).toBe(30);
  expect(percentile([7], 0.95)).toBe(7);
  expect(() => percentile([], 0.5)).toThrow();
});

test("distributionOf has order statistics and an interval around the median", () => {
  const samples = Array.from({ length: 101 }, (_, i) => i);
  const { interval, ...order } = distributionOf(samples.toReversed());
  expect(order).toEqual({ mean: 50, least: 0, p50: 50, p95: 95, p99: 99, most: 100 });
  expect(interval.confidence).toBe(0.95);
  expect(interval.low).toBeGreaterThan(30);
  expect(interval.low).toBeLessThan(50);
  expect(interval.high).toBeGreaterThan(50);
  expect(interval.high).toBeLessThan(70);
});
