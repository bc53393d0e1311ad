import type { Calibration } from "../report/report.ts";
import { median } from "../statistics/describe.ts";

/** A calibration takes some hundredths of a second: a neighbour can spoil one, but not all. */
const REPEATS = 5;

/**
 * Makes what calibrates the machine several times, again and again during a run.
 *
 * @returns calibrates, and gives the medians of all times so far
 */
export function createCalibrator(
  calibrate: () => Promise<Calibration>,
): () => Promise<Calibration> {
  const all: Calibration[] = [];
  const middle = (rate: keyof Calibration): number => median(all.map((each) => each[rate]));
  return async () => {
    for (let i = 0; i < REPEATS; i++) all.push(await calibrate());
    return {
      sha256: middle("sha256"),
      secretbox: middle("secretbox"),
      memoryCopy: middle("memoryCopy"),
    };
  };
}
