import type { replicate, ReplicateOptions, ReplicateReport } from "@idk/storage";
import type { ItemFailures } from "../errors/item-failures.ts";
import { printQueue } from "../output/print-queue.ts";
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

type Replicate = (options: ReplicateOptions) => ReturnType<typeof replicate>;

/** Counts copied blobs and prints failures as they occur. */
export function reporting(failures: ItemFailures, totals: CopyTotals, run: Replicate): Replicate {
  return async (options) => {
    const queue = printQueue();
    try {
      const report = await run({
        ...options,
        onProgress: totals.update,
        onFailure: ({ name, error }) => {
          void queue.add(() => failures.add(name, error));
        },
      });
      totals.update(report);
      return report;
    } finally {
      totals.next();
      await queue.settled();
    }
  };
}

/** What was copied or left out, without failures. */
export type CopyCounts = Omit<ReplicateReport, "failed" | "markers" | "markersRemoved">;

export function describeCopy(counts: CopyCounts): string {
  const { copied, copiedBytes, skipped, withheld, removed } = counts;
  const left = withheld > 0 ? `, ${count(withheld, "root")} withheld` : "";
  const gone = removed > 0 ? `, ${removed} removed during the copy` : "";
  return `copied ${count(copied, "blob")}, ${formatBytes(copiedBytes)}; ${skipped} already there${left}${gone}`;
}
