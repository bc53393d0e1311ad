import type { Budget } from "./budget.ts";

/** Counts bytes that passed through memory of their own, which the runtime frees late. */
export interface PassedBytes {
  add(bytes: number): void;
}

/**
 * After so many bytes, the runtime is told to collect. Left alone, it lets several hundred MiB of dead
 * buffers gather under many transfers, because it sees the few bytes of each that are on its own heap; a
 * collection takes some milliseconds.
 */
const COLLECT_AFTER = 16 * 2 ** 20;
/** With fewer transfers than this, what gathers is little, and speed counts. */
const BUSY_SHARES = 4;

/** @param budget whose shares say how many transfers there are */
export function createPassedBytes(budget: Pick<Budget, "shares">): PassedBytes {
  let passed = 0;
  return {
    add(bytes) {
      passed += bytes;
      if (passed < COLLECT_AFTER) return;
      passed = 0;
      if (budget.shares() >= BUSY_SHARES) Bun.gc(true);
    },
  };
}
