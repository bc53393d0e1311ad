import type { VerifyReport } from "@idk/storage";
import { count, formatBytes } from "../../output/text.ts";

/** How thoroughly to check. */
export type Depth = "checksum" | "blob" | "deep";

export interface Checked extends VerifyReport {
  /** Whether all content was also decrypted and checked. */
  readonly deep: boolean;
}

/** What was checked, without failures, and numbers of blobs unless the name tells otherwise. */
export interface VerifyCounts {
  readonly blobs: number;
  readonly bytes: number;
  readonly deep: number;
  /** Roots that no identity opens, of a deep check. */
  readonly unopened: number;
  /** Roots, or blobs that may be one, that were checked without what is below them. */
  readonly roots: number;
  /** By server checksum. */
  readonly attested: number;
  /** Removed after they were listed. */
  readonly removed: number;
}

export interface Tally {
  readonly counts: VerifyCounts;
  add(result: Checked): void;
  /** Counts a blob that was removed after it was listed. */
  addRemoved(): void;
}

export function createTally(): Tally {
  const counts = { blobs: 0, bytes: 0, deep: 0, unopened: 0, roots: 0, attested: 0, removed: 0 };
  return {
    counts,
    add(result) {
      counts.blobs += 1;
      counts.bytes += result.bytes;
      if (result.verifiedByServer) counts.attested += 1;
      if (result.deep) counts.deep += 1;
      else if (result.kind === "root") counts.unopened += 1;
      // A blob that was not downloaded may be one.
      if (!result.deep && result.kind !== "child") counts.roots += 1;
    },
    addRemoved() {
      counts.removed += 1;
    },
  };
}

/**
 * The summary of a check.
 *
 * @param failed how many blobs failed
 * @param snapshotBlobs how many blobs belong to snapshots; undefined if there are none
 * @returns a line, and perhaps a note
 */
export function describeVerify(
  depth: Depth,
  counts: VerifyCounts,
  failed: number,
  snapshotBlobs: number | undefined,
): string[] {
  const { attested, deep, unopened } = counts;
  const details: Readonly<Record<Depth, string>> = {
    blob: "",
    checksum: `: ${attested} by server checksum, ${counts.blobs - attested} downloaded`,
    deep:
      `: ${count(deep, "root")} with all content, ${counts.blobs - deep} by address and format only` +
      (unopened > 0 ? ` (including ${count(unopened, "root")} that no identity opens)` : ""),
  };
  const removed = counts.removed > 0 ? `, ${counts.removed} removed during the check` : "";
  const snapshots =
    snapshotBlobs === undefined
      ? ""
      : `; ${snapshotBlobs} of the blobs ${snapshotBlobs === 1 ? "belongs" : "belong"} to snapshots, which \`idk check\` checks as a whole`;
  const summary = `checked ${count(counts.blobs + failed, "blob")}, ${formatBytes(counts.bytes)}${details[depth]}; ${failed || "none"} failed${removed}${snapshots}`;
  // The summary of a deep check names the roots that were not opened.
  return depth === "deep" || counts.roots === 0 ? [summary] : [summary, MAY_LACK_CHUNKS];
}

const MAY_LACK_CHUNKS =
  "idk: note: missing chunks are not detected; --complete detects them, without downloading chunks";
