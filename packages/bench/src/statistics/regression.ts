import { linearRegression, sum } from "simple-statistics";

export type Points = readonly (readonly [x: number, y: number])[];

export interface Line {
  readonly slope: number;
  /** Standard error of the slope. */
  readonly error: number;
}

/** Fits a line by least squares to three or more points, which do not all have the same x. */
export function fitLine(points: Points): Line {
  const { m: slope, b } = linearRegression(points.map(([x, y]) => [x, y]));
  const middle = sum(points.map(([x]) => x)) / points.length;
  const squares = sum(points.map(([x]) => (x - middle) ** 2));
  const residuals = sum(points.map(([x, y]) => (y - slope * x - b) ** 2));
  return { slope, error: Math.sqrt(residuals / (points.length - 2) / squares) };
}

/**
 * Fits the exponent e of y ~ x^e: the slope of a line through the logarithms, so that an error of 10 %
 * weighs the same at every size.
 *
 * @param points three or more, with positive x and y
 */
export function fitPowerLaw(points: Points): Line {
  return fitLine(points.map(([x, y]) => [Math.log(x), Math.log(y)]));
}
