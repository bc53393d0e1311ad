import { expect } from "bun:test";
import type { RecorderStats } from "../../src/index.ts";

export function droppedIn({ dropped }: Pick<RecorderStats, "dropped">): number {
  return Object.values(dropped).reduce((sum, count) => sum + count, 0);
}

/** Every exchange is in exactly one count. */
export function expectBalanced(stats: RecorderStats): void {
  const { notKept, open, queued, seen, stored } = stats;
  expect(stored + notKept + droppedIn(stats) + open + queued).toBe(seen);
}
