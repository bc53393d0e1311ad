import { linearRegression, sum } from "simple-statistics";

export interface Line {
  readonly slope: number;
  /** Standard error of the slope. */
  readonly error: number;
}

/**
 * Fits a line by least squares.
 *
 * @param xs three or more, not all equal
 */
export function fitLine(xs: readonly number[], ys: readonly number[]): Line {
  const { m: slope, b } = linearRegression(xs.map((x, i) => [x, ys[i]!]));
  const middle = sum(xs) / xs.length;
  const squares = sum(xs.map((x) => (x - middle) ** 2));
  const residuals = sum(ys.map((y, i) => (y - slope * xs[i]! - b) ** 2));
  return { slope, error: Math.sqrt(residuals / (xs.length - 2) / squares) };
}

export interface PowerLaw {
  readonly exponent: number;
  /** Standard error of the exponent. */
  readonly error: number;
}

/**
 * Fits the exponent e of y ~ x^e: the slope of a line through the logarithms, so that an error of 10 %
 * weighs the same at every size.
 *
 * @param xs three or more, greater than 0 like the ys
 */
export function fitPowerLaw(xs: readonly number[], ys: readonly number[]): PowerLaw {
  const { slope: exponent, error } = fitLine(xs.map(Math.log), ys.map(Math.log));
  return { exponent, error };
}
