import { createHash } from "node:crypto";
import { loadNaCl } from "@idk/storage";
import type { Calibration } from "../report/report.ts";

const LENGTH = 4 * 2 ** 20;
const ROUNDS = 7;

/**
 * Measures the speed of this machine on one thread in less than a second, in bytes per second. Takes
 * the best round and not the median, because other load only ever makes a round slower.
 */
export async function calibrate(): Promise<Calibration> {
  const naCl = await loadNaCl();
  const message = new Uint8Array(LENGTH).fill(1);
  const box = new Uint8Array(LENGTH + 16).fill(1);
  const [key, nonce] = [new Uint8Array(32), new Uint8Array(24)];
  return {
    sha256: rate(1, () => createHash("sha256").update(message).digest()),
    secretbox: rate(1, () => naCl.seal(box, message, nonce, key)),
    // Repeated to take as long as the others, so that reading the clock weighs the same.
    memoryCopy: rate(8, () => box.set(message)),
  };
}

function rate(repeats: number, work: () => unknown): number {
  work();
  const rates = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    for (let i = 0; i < repeats; i++) work();
    return (repeats * LENGTH) / ((performance.now() - start) / 1000);
  });
  return Math.max(...rates);
}

/** One calibration takes some hundredths of a second: other load may disturb one, but hardly all. */
const REPEATS = 5;

/**
 * Repeats calibrations during a run.
 *
 * @returns calibrates several times and returns the best rates so far
 */
export function createCalibrator(
  calibrate: () => Promise<Calibration>,
): () => Promise<Calibration> {
  const all: Calibration[] = [];
  const best = (rate: keyof Calibration): number => Math.max(...all.map((each) => each[rate]));
  return async () => {
    for (let i = 0; i < REPEATS; i++) all.push(await calibrate());
    return {
      sha256: best("sha256"),
      secretbox: best("secretbox"),
      memoryCopy: best("memoryCopy"),
    };
  };
}
