import type { BackupStatus, PinnedRepository } from "@idk/snapshots";
import { count } from "../output/text.ts";
import { timeText } from "./entries.ts";
import type { LastRun } from "./last-run.ts";

/** What sessions that did not end have stored. */
export interface Unfinished {
  readonly packs: number;
  /** The store's time of the oldest, in milliseconds since 1970. */
  readonly since: number;
  /** Whether some are too old to be used again: stored half the grace period ago, or earlier. */
  readonly stuck: boolean;
}

/** @param now the store's time, in milliseconds since 1970 */
export function unfinishedOf(
  found: BackupStatus["unfinished"],
  { graceSeconds }: Pick<PinnedRepository, "graceSeconds">,
  now: number,
): Unfinished | undefined {
  return found && { ...found, stuck: now - found.since >= (graceSeconds * 1000) / 2 };
}

/** A line of `idk status`. */
export function unfinishedLine(found: Unfinished | undefined): string {
  if (found === undefined) return "unfinished  nothing";
  const { packs, since, stuck } = found;
  const next = stuck
    ? "the next backup sends again what is too old to be used, and `idk prune` frees it"
    : "the next backup uses them";
  return `unfinished  ${count(packs, "pack")} since ${timeText(since)} UTC: ${next}`;
}

/** What could not be read: of a folder nothing is known. */
export function unreadText(amount: number): string {
  return amount === 1 ? "1 file or folder" : `${amount} files or folders`;
}

/** Files that are listed; the number of others is printed. */
const FILES_MAX = 20;

/** What went wrong in the last run; no line if nothing did. */
export function failedLines(run: LastRun | undefined): string[] {
  if (run === undefined || (run.failed === 0 && run.error === undefined)) return [];
  const { at, failed, files, error } = run;
  const when = `the last backup, ${timeText(at)} UTC`;
  if (error !== undefined) return [`failed      ${when}, which made no snapshot: ${error.message}`];
  const shown = files.slice(0, FILES_MAX);
  const more = failed - shown.length;
  return [
    `failed      ${unreadText(failed)} of ${when}`,
    ...shown.map(({ path, message }) => `            ${path}: ${message}`),
    ...(more > 0 ? [`            and ${more} more`] : []),
  ];
}
