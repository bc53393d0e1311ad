import type { BackupCounts, BackupEvent, BackupOptions, BackupSummary } from "./options.ts";

/** Errors and warnings that the summary lists. */
const LISTED_MAX = 1000;
const PROGRESS_MS = 100;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Counts what a backup does, and tells the caller. */
export interface Report {
  readonly counts: Mutable<BackupCounts>;
  error(path: Uint8Array, error: unknown): void;
  /** @param path undefined if it is about none */
  warning(path: Uint8Array | undefined, message: string): void;
  event(event: BackupEvent): void;
  /** Tells the progress, unless it did just before. */
  progress(isEnd?: boolean): void;
  lists(): Pick<BackupSummary, "errorList" | "warnings" | "warningCount">;
}

export function createReport(onEvent: BackupOptions["onEvent"]): Report {
  const counts: Mutable<BackupCounts> = {
    files: 0,
    directories: 0,
    bytes: 0,
    newFiles: 0,
    changedFiles: 0,
    unchangedFiles: 0,
    goneFiles: 0,
    newBytes: 0,
    storedBytes: 0,
    errors: 0,
  };
  const errorList: { readonly path: Uint8Array; readonly error: Error }[] = [];
  const warnings: BackupSummary["warnings"][number][] = [];
  let warningCount = 0;
  let last = 0;
  return {
    counts,
    error(path, thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      counts.errors += 1;
      if (errorList.length < LISTED_MAX) errorList.push({ path, error });
      onEvent?.({ kind: "error", path, error });
    },
    warning(path, message) {
      warningCount += 1;
      if (warnings.length < LISTED_MAX) warnings.push({ path, message });
      onEvent?.({ kind: "warning", path, message });
    },
    event: (event) => onEvent?.(event),
    progress(isEnd = false) {
      if (onEvent === undefined) return;
      const now = performance.now();
      if (!isEnd && now - last < PROGRESS_MS) return;
      last = now;
      onEvent({ kind: "progress", counts: { ...counts } });
    },
    lists: () => ({ errorList, warnings, warningCount }),
  };
}
