import { expect, test } from "bun:test";
import { fitLine, fitPowerLaw } from "../../src/statistics/regression.ts";

test("fitLine returns the slope and its standard error", () => {
  const line = (...ys: number[]) => fitLine(ys.map((y, i) => [i + 1, y]));
  expect(line(5, 7, 9, 11)).toEqual({ slope: 2, error: 0 });
  // By hand: residuals of 0.2 and 0.6 around a slope of 0.2, so √(0.8 / 2 / 5).
  const { slope, error } = line(0, 1, 0, 1);
  expect(slope).toBeCloseTo(0.2, 10);
  expect(error).toBeCloseTo(Math.sqrt(0.08), 10);
});

test("fitPowerLaw returns the exponent, independent of the factor", () => {
  const xs = [1, 4, 16, 64];
  const { slope, error } = fitPowerLaw(xs.map((x) => [x, 7 * x ** 1.5]));
  expect(slope).toBeCloseTo(1.5, 10);
  expect(error).toBeCloseTo(0, 10);
});
