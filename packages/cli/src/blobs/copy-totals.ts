import type { ReplicateReport } from "@idk/storage";
import { count, formatBytes } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";

/** The sum of a copy in several parts. */
export interface CopyTotals {
  readonly sum: ReplicateReport;
  /** Sets the state of the current part. */
  update(part: ReplicateReport): void;
  /** Ends the current part. */
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

export function createCopyTotals(meter: Meter): CopyTotals {
  let done = NOTHING;
  let part = NOTHING;
  const report = meter.part();
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
      const { copied, copiedBytes, skipped, failed, withheld, removed } = sum();
      report({
        bytes: copiedBytes,
        items: copied + skipped + failed + withheld + removed,
      });
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
  const gone = removed > 0 ? `, ${removed} removed during the copy` : "";
  return `copied ${count(copied, "blob")}, ${formatBytes(copiedBytes)}; ${skipped} already there${left}${gone}`;
}
