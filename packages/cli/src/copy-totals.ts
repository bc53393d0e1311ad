import type { Output } from "./output.ts";
import type { ReplicateReport } from "@idk/storage";
import { count } from "./text.ts";
import { formatBytes } from "./sizes.ts";

/** What a copy of several parts has done so far. */
export interface CopyTotals {
  readonly sum: ReplicateReport;
  /** Takes the state of the part at work, and now and then says how far it is. */
  update(part: ReplicateReport): void;
  /** The part is over. */
  next(): void;
}

const NOTHING: ReplicateReport = {
  copied: 0,
  copiedBytes: 0,
  skipped: 0,
  failed: 0,
  withheld: 0,
  removed: 0,
};

/** Milliseconds between two lines of progress. A copy that takes less says nothing but its sum. */
const INTERVAL = 5000;

export function createCopyTotals(out: Output): CopyTotals {
  let done = NOTHING;
  let part = NOTHING;
  let said = performance.now();
  const sum = (): ReplicateReport => ({
    copied: done.copied + part.copied,
    copiedBytes: done.copiedBytes + part.copiedBytes,
    skipped: done.skipped + part.skipped,
    failed: done.failed + part.failed,
    withheld: done.withheld + part.withheld,
    removed: done.removed + part.removed,
  });
  return {
    get sum() {
      return sum();
    },
    update(state) {
      part = state;
      const now = performance.now();
      if (out.json || now - said < INTERVAL) return;
      said = now;
      void out.note(`${describeCopy(sum())} so far`);
    },
    next() {
      done = sum();
      part = NOTHING;
    },
  };
}

export function describeCopy(report: ReplicateReport): string {
  const { copied, copiedBytes, skipped, withheld, removed } = report;
  const left = withheld > 0 ? `, ${count(withheld, "root")} withheld` : "";
  const gone = removed > 0 ? `, ${removed} removed meanwhile` : "";
  return `copied ${count(copied, "blob")}, ${formatBytes(copiedBytes)}; ${skipped} there already${left}${gone}`;
}
