import type { Calibration, Measurement } from "./report.ts";

/**
 * Bytes a second that one thread of the machine seals and hashes, one after the other. From the
 * calibration of the same run: 1 / (1 / secretbox + 1 / sha256).
 */
export function serialRate({ sha256, secretbox }: Calibration): number {
  return 1 / (1 / sha256 + 1 / secretbox);
}

/**
 * A time as a multiple of what the machine itself needs, which is what can be compared between
 * runs, and roughly between machines:
 *
 *     seconds × serialRate(calibration) / bytesPerOperation
 *
 * With 1 the operation takes as long as sealing and hashing its bytes on one thread. Where it moves
 * no bytes, they are left out: the result is then the bytes that would be sealed and hashed meanwhile.
 */
export function calibratedCost(
  seconds: number,
  { bytesPerOperation }: Pick<Measurement, "bytesPerOperation">,
  calibration: Calibration,
): number {
  return (seconds * serialRate(calibration)) / (bytesPerOperation || 1);
}
