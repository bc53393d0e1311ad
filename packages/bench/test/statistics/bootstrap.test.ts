import { describe, expect, test } from "bun:test";
import { bootstrapInterval, thinned } from "../../src/statistics/bootstrap.ts";
import { mean, median } from "../../src/statistics/describe.ts";
import { seededRandom } from "../../src/statistics/random.ts";

describe("95 % intervals contain the true value in 93 to 97 % of a thousand experiments", () => {
  const random = seededRandom(20_260_101);
  /** Box-Muller transform. */
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const skewed = () => Math.exp(0.5 * normal());
  const cases = [
    { name: "median of 20, normal", statistic: median, count: 20, draw: normal, truth: 0 },
    { name: "median of 20, skewed", statistic: median, count: 20, draw: skewed, truth: 1 },
    { name: "mean of 20, normal", statistic: mean, count: 20, draw: normal, truth: 0 },
    { name: "mean of 50, normal", statistic: mean, count: 50, draw: normal, truth: 0 },
  ];
  for (const { name, statistic, count, draw, truth } of cases) {
    test(
      name,
      () => {
        const held = Array.from({ length: 1000 }, () => {
          const samples = Array.from({ length: count }, draw);
          const { low, high } = bootstrapInterval(samples, statistic, { resamples: 500 });
          return low <= truth && truth <= high;
        }).filter(Boolean).length;
        expect(held).toBeGreaterThanOrEqual(930);
        expect(held).toBeLessThanOrEqual(970);
      },
      60_000,
    );
  }
});

test("equal samples give equal intervals", () => {
  const samples = Array.from({ length: 30 }, (_, i) => (i * 37) % 30);
  expect(bootstrapInterval(samples, mean)).toEqual(bootstrapInterval(samples, mean));
});

test("more confidence gives a wider interval, one sample a point, no sample an error", () => {
  const samples = Array.from({ length: 30 }, (_, i) => i);
  const width = (confidence: number) => {
    const { low, high } = bootstrapInterval(samples, mean, { confidence });
    return high - low;
  };
  expect(width(0.99)).toBeGreaterThan(width(0.95));
  const point = bootstrapInterval([5], mean);
  expect(point).toEqual({ low: 5, high: 5, confidence: 0.95 });
  expect(() => bootstrapInterval([], mean)).toThrow();
});

test("thinning keeps the order and spaces evenly", () => {
  expect(thinned([1, 2, 3], 3)).toEqual([1, 2, 3]);
  expect(thinned([1, 2, 3, 4, 5, 6, 7, 8, 9], 3)).toEqual([1, 4, 7]);
});
