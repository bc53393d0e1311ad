import { type CopyCounts, describeCopy } from "../blobs/copy-totals.ts";
import {
  type CompleteCounts,
  describeComplete,
  nothingOpened,
} from "../blobs/verify/verify-complete.ts";
import { type Depth, describeVerify, type VerifyCounts } from "../blobs/verify/verify-tally.ts";
import { codeOf, Failure, isUnanswered, worstOf } from "../errors/failures.ts";
import { count, roundBytes } from "../output/text.ts";
import { describeObjects, objectsFailure } from "../gateway/check-summary.ts";
import type { Session } from "../session.ts";
import type { Kind } from "../snapshots/check/steps.ts";
import { checkFailure, describeCheck } from "../snapshots/check/summary.ts";
import { timeText } from "../snapshots/entries.ts";
import { type Counts, failuresOf, FOUND, type Report } from "./report.ts";
import { shardText } from "./shard.ts";

/** What a report comes to, as the command on the whole store tells it. */
interface Summary {
  /** A line, and perhaps notes. */
  readonly lines: readonly string[];
  /** Why the command fails. */
  readonly failure: Failure | undefined;
}

/** Such as `2026-05-04 12:00:00 UTC`, of a time in a report. */
export function momentText(time: string | undefined): string {
  return `${timeText(Date.parse(time ?? ""))} UTC`;
}

/** Missing counts are 0: a shard may have nothing. */
function countsIn<K extends string>(counts: Counts, names: readonly K[]): Record<K, number> {
  return Object.fromEntries(names.map((name) => [name, counts[name] ?? 0])) as Record<K, number>;
}

const VERIFY: readonly (keyof VerifyCounts)[] = [
  "blobs",
  "bytes",
  "deep",
  "unopened",
  "roots",
  "attested",
  "removed",
];
const COMPLETE: readonly (keyof CompleteCounts)[] = [
  "roots",
  "bytes",
  "chunks",
  "verified",
  "closed",
  "removed",
];
const COPY: readonly (keyof CopyCounts)[] = [
  "copied",
  "copiedBytes",
  "skipped",
  "withheld",
  "removed",
];

const CHECK = ["packs", "metadataPacks", "opened", "openedBytes", "attested"] as const;
const CHECK_SHARED = ["snapshots", "forgotten"] as const;
const OBJECTS = ["objects", "reportedElsewhere"] as const;
const PRUNE = ["deletedBlobs", "deletedBytes", "keptBlobs", "keptBytes", "missing"] as const;

type PruneCounts = Readonly<Record<(typeof PRUNE)[number], number>>;

/** @param missing packs to report */
function describePrune(counts: PruneCounts, isDryRun: boolean, missing: number): string {
  const { deletedBlobs, deletedBytes, keptBlobs, keptBytes } = counts;
  const lacking = missing === 0 ? "" : `; ${count(missing, "pack")} missing: run \`idk check\``;
  return (
    `${isDryRun ? "would delete" : "deleted"} ${roundBytes(deletedBytes)} in ${count(deletedBlobs, "blob")}, ` +
    `kept ${roundBytes(keptBytes)} in ${count(keptBlobs, "blob")}${lacking}`
  );
}

/**
 * The summary of a report.
 *
 * @param isWhole whether it is that of all shards: what a single one does not have may be in another
 */
export function summaryOf(report: Report, isWhole: boolean): Summary {
  const { command, counts, options } = report;
  const failed = failuresOf(report).count;
  if (command === "copy") {
    const copy = countsIn(counts, COPY);
    return {
      lines: [`${describeCopy(copy)}; ${failed || "none"} failed`],
      failure: itemFailure(report, copy.copied + copy.skipped + copy.withheld),
    };
  }
  if (command === "check") {
    const check = { ...countsIn(counts, CHECK), ...countsIn(report.shared, CHECK_SHARED) };
    const found = Object.entries(counts)
      .filter(([name, number]) => name.startsWith(FOUND) && number > 0)
      .map(([name, number]) => [name.slice(FOUND.length) as Kind, number] as const);
    const problems = new Map(found);
    const none = problems.size === 0 ? ["no problems found"] : [];
    return { lines: [describeCheck(check), ...none], failure: checkFailure(problems) };
  }
  if (command === "prune") {
    const pruned = countsIn(counts, PRUNE);
    // That of a single shard is a warning of its own.
    const missing = isWhole ? pruned.missing : 0;
    return {
      lines: [describePrune(pruned, options["dryRun"] === true, missing)],
      failure: undefined,
    };
  }
  if (command === "gateway check") {
    const { objects, reportedElsewhere } = countsIn(counts, OBJECTS);
    return {
      lines: [
        describeObjects(objects, failed + reportedElsewhere),
        ...(isWhole || reportedElsewhere === 0 ? [] : [lackingHere(reportedElsewhere)]),
      ],
      failure: isWhole
        ? (objectsFailure(failed, objects) ?? lostMeanwhile(reportedElsewhere))
        : objectsFailure(failed),
    };
  }
  if (options["depth"] === "complete") {
    const complete = countsIn(counts, COMPLETE);
    const closed = isWhole ? nothingOpened(complete) : undefined;
    return {
      lines: [describeComplete(complete, failed)],
      failure: itemFailure(report, complete.roots) ?? closed,
    };
  }
  const verify = countsIn(counts, VERIFY);
  const depth = options["depth"] as Depth;
  return {
    lines: describeVerify(depth, verify, failed, counts["snapshotBlobs"]),
    failure: itemFailure(report, verify.blobs),
  };
}

function lackingHere(objects: number): string {
  return `idk: note: blobs of ${count(objects, "object")} are missing here, too, which another shard reports`;
}

/** Another shard was to report them, and was done before it could. */
function lostMeanwhile(objects: number): Failure | undefined {
  if (objects === 0) return undefined;
  return new Failure(
    "tree",
    `${count(objects, "object")} lost blobs while the shards were checked: delete the reports, and check again`,
  );
}

/** @param others how many blobs did not fail */
function itemFailure(report: Report, others: number): Failure | undefined {
  const { count: failed, codes } = failuresOf(report);
  if (failed === 0) return undefined;
  return new Failure(worstOf(codes), `${failed} of ${count(others + failed, "blob")} failed`);
}

/** Prints the summary of a shard that is done. @throws Failure that of the command */
export async function conclude(report: Report, session: Session): Promise<void> {
  const { out } = session;
  const { command, shard, begun, ended, counts, shared } = report;
  const { lines, failure } = summaryOf(report, false);
  const failed = failuresOf(report).count;
  const what = { command, shard: shardText(shard), begun, ended };
  await out.report({ ...what, ...shared, ...counts, failed });
  await out.flush();
  const [line = "", ...notes] = lines;
  await out.note(`shard ${shardText(shard)}: ${line}`);
  if (!out.json) for (const note of notes) await out.note(note);
  await noteLeft(report, session);
  if (failure !== undefined) throw failure;
}

/** Prints what the next run would do after an error that it may not meet again. */
export async function noteStopped(error: unknown, report: Report, session: Session): Promise<void> {
  if (session.signal.aborted || isUnanswered(codeOf(error))) await noteLeft(report, session);
}

/** Prints what the next run of a shard would do, if there is something left. */
async function noteLeft(report: Report, { out }: Session): Promise<void> {
  const unanswered = report.unanswered.length;
  if (out.json || (report.position === undefined && unanswered === 0)) return;
  const shard = `shard ${shardText(report.shard)}`;
  await out.note(
    report.position === undefined
      ? `idk: the store did not answer for ${count(unanswered, "blob")} of ${shard}: run the same command again to try them`
      : `idk: ${shard} is not complete: run the same command again to continue`,
  );
}
