import type { Calibration, Measurement } from "./report.ts";

/**
 * Bytes per second that one thread seals and then hashes, from the calibration of the same run:
 * 1 / (1 / secretbox + 1 / sha256).
 */
export function serialRate({ sha256, secretbox }: Calibration): number {
  return 1 / (1 / sha256 + 1 / secretbox);
}

/**
 * A time relative to the speed of the machine. It can be compared between runs, and roughly between
 * machines:
 *
 *     seconds × serialRate(calibration) / bytesPerOperation
 *
 * 1 means that the operation takes as long as sealing and hashing its bytes on one thread. If the
 * operation moves no bytes, the result is the number of bytes that could be sealed and hashed in the
 * same time.
 */
export function calibratedCost(
  seconds: number,
  { bytesPerOperation }: Pick<Measurement, "bytesPerOperation">,
  calibration: Calibration,
): number {
  return (seconds * serialRate(calibration)) / (bytesPerOperation || 1);
}
