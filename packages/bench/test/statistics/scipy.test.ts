/* Compares with results of NumPy and SciPy; test/scipy/make_expected.py regenerates them. */
import expected from "../scipy/expected.json" with { type: "json" };
import { describe, expect, test } from "bun:test";
import { bootstrapInterval, expandedTail } from "../../src/statistics/bootstrap.ts";
import { mean, median, percentile } from "../../src/statistics/describe.ts";
import { fitLine, fitPowerLaw } from "../../src/statistics/regression.ts";

describe("matches NumPy", () => {
  for (const [name, { values, percentiles, ...sample }] of Object.entries(expected.samples)) {
    test(`percentiles and mean, ${name}`, () => {
      for (const [share, value] of percentiles as [number, number][]) {
        expect(percentile(values, share)).toBeCloseTo(value, 12);
      }
      expect(mean(values)).toBeCloseTo(sample.mean, 12);
    });
  }
});

describe("matches SciPy", () => {
  test("expanded tails", () => {
    for (const [count, confidence, tail] of expected.tails as [number, number, number][]) {
      expect(Math.abs(expandedTail(count, confidence) - tail)).toBeLessThan(2e-4);
    }
  });

  for (const [name, sample] of Object.entries(expected.samples)) {
    const cases = [
      { of: "median", statistic: median, interval: sample.median95 },
      { of: "median", statistic: median, interval: sample.median99 },
      { of: "mean", statistic: mean, interval: sample.mean95 },
    ];
    for (const { of, statistic, interval } of cases) {
      const { low, high, confidence } = interval;
      test(`${confidence * 100} % interval of the ${of}, ${name}`, () => {
        const { values } = sample;
        const options = { resamples: 20_000, confidence };
        const own = bootstrapInterval(values, statistic, options);
        // Resampling is random on both sides; a median moves from one sample to the next.
        const tolerance = 0.1 * (high - low);
        expect(own.confidence).toBe(confidence);
        expect(Math.abs(own.low - low)).toBeLessThan(tolerance);
        expect(Math.abs(own.high - high)).toBeLessThan(tolerance);
      });
    }
  }

  for (const [name, line] of Object.entries(expected.lines)) {
    test(`lines and power laws, ${name}`, () => {
      const points = line.xs.map((x, i) => [x, line.ys[i]!] as const);
      const { slope, error } = fitLine(points);
      expect(slope).toBeCloseTo(line.slope, 9);
      expect(error).toBeCloseTo(line.slopeError, 9);
      const law = fitPowerLaw(points);
      expect(law.slope).toBeCloseTo(line.exponent, 9);
      expect(law.error).toBeCloseTo(line.exponentError, 9);
    });
  }
});
