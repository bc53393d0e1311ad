import { createHash } from "node:crypto";
import { loadNaCl } from "@idk/storage";
import type { Calibration } from "../report/report.ts";

const LENGTH = 4 * 2 ** 20;
const ROUNDS = 7;

/**
 * What this machine can do on one thread, in bytes a second: the best of a few rounds, under a second.
 * Not their median, because a neighbour only ever takes away, and more from what takes longer.
 */
export async function calibrate(): Promise<Calibration> {
  const naCl = await loadNaCl();
  const message = new Uint8Array(LENGTH).fill(1);
  const box = new Uint8Array(LENGTH + 16).fill(1);
  const [key, nonce] = [new Uint8Array(32), new Uint8Array(24)];
  return {
    sha256: rate(1, () => createHash("sha256").update(message).digest()),
    secretbox: rate(1, () => naCl.seal(box, message, nonce, key)),
    // As long as the others, so that the clock is read as seldom.
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

/** A calibration takes some hundredths of a second: a neighbour can spoil one, but hardly all. */
const REPEATS = 5;

/**
 * Makes what calibrates the machine several times, again and again during a run.
 *
 * @returns calibrates, and gives the best of all times so far
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
