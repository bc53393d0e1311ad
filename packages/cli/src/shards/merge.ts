import { usage } from "../errors/failures.ts";
import { addReport, otherOption, readReport, type Report } from "./report.ts";
import { shardText } from "./shard.ts";

/** A report, and the file it was read from. */
export interface ReadReport {
  readonly path: string;
  readonly report: Report;
}

/** @throws Failure `usage` if a file is missing or no report */
export async function readReports(files: readonly string[]): Promise<ReadReport[]> {
  const read: ReadReport[] = [];
  for (const path of files) {
    const report = await readReport(path);
    if (report === undefined) throw usage(`cannot read the report ${path}: no such file`);
    read.push({ path, report });
  }
  return read;
}

/**
 * Adds up the reports of all shards of one command on one store, in any order.
 *
 * @returns the report of shard 1/1
 * @throws Failure `usage` if they do not belong together, or are not all
 */
export function mergeReports(reports: readonly ReadReport[]): Report {
  const [first] = reports;
  if (first === undefined) throw usage("name the reports of all shards");
  const { count } = first.report.shard;
  const found = new Map<number, ReadReport>();
  for (const one of reports) {
    requireAlike(first, one);
    const { path, report } = one;
    const twin = found.get(report.shard.index);
    if (twin !== undefined) {
      throw usage(
        `${twin.path} and ${path} are both the report of shard ${shardText(report.shard)}: name only one`,
      );
    }
    if (report.position !== undefined) {
      throw usage(
        `shard ${shardText(report.shard)} in ${path} is not complete: run its command again to continue`,
      );
    }
    found.set(report.shard.index, one);
  }
  const missing = Array.from({ length: count }, (_, at) => at + 1).filter((at) => !found.has(at));
  if (missing.length > 0) {
    const run =
      missing.length === 1
        ? "run its command, and name its report"
        : "run their commands, and name their reports";
    throw usage(`no report of ${shardsText(missing, count)}: ${run}, too`);
  }
  const [start, ...others] = Array.from(found.entries())
    .toSorted(([a], [b]) => a - b)
    .map(([, { report }]) => report);
  return { ...others.reduce(addReport, start!), shard: { index: 1, count } };
}

function requireAlike(first: ReadReport, other: ReadReport): void {
  const differ = (what: string, a: string, b: string): Error =>
    usage(`${first.path} is ${what} ${a}, and ${other.path} ${b}: merge reports of one run`);
  const [a, b] = [first.report, other.report];
  if (a.command !== b.command) throw differ("of the command", a.command, b.command);
  const [theirs, ours] = [a.stores.join(" to "), b.stores.join(" to ")];
  if (theirs !== ours) throw differ("of the store", theirs, ours);
  if (a.shard.count !== b.shard.count) {
    throw differ("one of", `${a.shard.count} shards`, `one of ${b.shard.count}`);
  }
  const option = otherOption(a, b);
  if (option !== undefined) throw differ(`of a run with ${option.name} set to`, ...option.values);
  const areComplete = a.position === undefined && b.position === undefined;
  if (
    a.command === "check" &&
    areComplete &&
    JSON.stringify(a.shared) !== JSON.stringify(b.shared)
  ) {
    throw usage(
      `${first.path} and ${other.path} are of checks that saw different snapshots: delete the reports, and run the shards again while no backup is made`,
    );
  }
}

/** What to do about blobs that the store did not answer for; undefined if there are none. */
export function unansweredText(reports: readonly ReadReport[]): string | undefined {
  const shards = reports.flatMap(({ report }) =>
    report.unanswered.length > 0 ? [report.shard] : [],
  );
  const [first] = shards;
  if (first === undefined) return undefined;
  const indexes = shards.map(({ index }) => index).toSorted((a, b) => a - b);
  return (
    `the store did not answer for some blobs of ${shardsText(indexes, first.count)}: ` +
    `run ${shards.length === 1 ? "its command" : "their commands"} again to try them, then merge again`
  );
}

const NAMED = 16;

/** Such as `shards 2, 4 of 4`. */
function shardsText(indexes: readonly number[], count: number): string {
  const named = indexes.slice(0, NAMED).join(", ");
  const more = indexes.length > NAMED ? `, and ${indexes.length - NAMED} more,` : "";
  return `${indexes.length === 1 ? "shard" : "shards"} ${named}${more} of ${count}`;
}
