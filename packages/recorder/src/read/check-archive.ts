import type { StorageError, Store } from "@idk/storage";
import type { RunTotals, SegmentMetadata } from "../segments/metadata.ts";
import { eachLine } from "./lines.ts";
import { compareText } from "./list-segments.ts";
import { archiveBlobs, isDamage, type ReadSegmentsOptions, type Segment } from "./segments.ts";

/** What is wrong with an archive. */
export type ArchiveProblem =
  /** A blob cannot be read, so that it may have been a segment. */
  | { readonly kind: "damaged"; readonly address: string; readonly error: StorageError }
  /** Lines of a segment are not exchanges, or there are more or fewer than it announces. */
  | {
      readonly kind: "lines";
      readonly address: string;
      readonly damaged: number;
      readonly count: number;
      readonly announced: number;
    }
  /** Segments of a run are missing between others: their first and last number. */
  | { readonly kind: "gap"; readonly run: string; readonly from: number; readonly to: number }
  /** The segment before it in its run is another one than it names. */
  | {
      readonly kind: "chain";
      readonly run: string;
      readonly seq: number;
      readonly address: string;
    }
  /** Two segments claim to be the same one; one of them is forged. */
  | {
      readonly kind: "duplicate";
      readonly run: string;
      readonly seq: number;
      readonly addresses: readonly string[];
    };

/** What a run of a recorder left. */
export interface RunReport {
  readonly run: string;
  /** When its first and last exchange began: milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly segments: number;
  readonly exchanges: number;
  /** The number of its first segment that is there; those before it have expired, or are too early. */
  readonly firstSeq: number;
  /** Its totals, in its last segment that is there. */
  readonly totals: RunTotals;
  /** Exchanges that were seen, and neither stored, nor not kept, nor dropped. */
  readonly lost: number;
  /** How it ended; `open` if it still runs, or its last segments are not there yet. */
  readonly end: "closed" | "lost" | "open";
}

/** The result of `checkArchive`. */
export interface ArchiveReport {
  readonly segments: number;
  readonly exchanges: number;
  /** Bytes of segments as stored. */
  readonly storedBytes: number;
  /** Roots for other recipients, which may be segments. */
  readonly closed: number;
  /** Blobs that are not segments. */
  readonly other: number;
  /** By the times of their beginnings. */
  readonly runs: readonly RunReport[];
  readonly problems: readonly ArchiveProblem[];
}

type Member = Pick<SegmentMetadata, "seq" | "prev" | "from" | "to" | "count" | "end"> & {
  readonly address: string;
};

interface Run {
  readonly members: Member[];
  /** Segments outside of the given times: between others, they are no gap. */
  readonly outside: Member[];
  /** Its last segment. */
  last: Opened | undefined;
}

/**
 * Reads all segments and checks that their lines are exchanges, and that no segment of a run is
 * missing between others. That the newest ones of a run were deleted cannot be seen.
 *
 * @throws StorageError `usage`, `key`, `permission`, `unavailable`, `aborted`
 */
export async function checkArchive(
  store: Store,
  options: ReadSegmentsOptions = {},
): Promise<ArchiveReport> {
  const problems: ArchiveProblem[] = [];
  const runs = new Map<string, Run>();
  const sum = { segments: 0, exchanges: 0, storedBytes: 0, closed: 0, other: 0 };
  for await (const blob of archiveBlobs(store, options)) {
    if (blob.kind === "damaged") problems.push(blob);
    else if (blob.kind === "outside") runOf(runs, blob).outside.push(memberOf(blob));
    else if (blob.kind !== "segment") sum[blob.kind] += 1;
    else {
      const exchanges = await checkSegment(blob, problems);
      sum.segments += 1;
      sum.exchanges += exchanges;
      sum.storedBytes += blob.storedBytes;
      const run = runOf(runs, blob);
      run.members.push(memberOf(blob));
      if (run.last === undefined || supersedes(blob, run.last)) {
        // Without its content.
        run.last = { address: blob.address, metadata: blob.metadata };
      }
    }
  }
  const reports: RunReport[] = [];
  for (const [run, { members, outside, last }] of runs) {
    if (last === undefined) continue;
    members.sort(bySeq);
    const [first, final] = [members[0]!.seq, last.metadata.seq];
    const between = outside.filter(({ seq }) => seq > first && seq < final);
    checkRun(run, [...members, ...between].toSorted(bySeq), problems);
    reports.push(reportOf(run, members, last.metadata));
  }
  reports.sort((a, b) => a.from - b.from);
  return { ...sum, runs: reports, problems };
}

/** @returns how many exchanges it has */
async function checkSegment(segment: Segment, problems: ArchiveProblem[]): Promise<number> {
  const { address, metadata } = segment;
  try {
    let [count, damaged] = [0, 0];
    for (const exchange of eachLine(await segment.lines(), metadata)) {
      count += 1;
      if (exchange === undefined) damaged += 1;
    }
    if (damaged > 0 || count !== metadata.count) {
      problems.push({ kind: "lines", address, damaged, count, announced: metadata.count });
    }
    return count - damaged;
  } catch (error) {
    if (!isDamage(error)) throw error;
    problems.push({ kind: "damaged", address, error });
    return 0;
  }
}

type Opened = Pick<Segment, "address" | "metadata">;

function runOf(runs: Map<string, Run>, { metadata: { run } }: Opened): Run {
  const known = runs.get(run);
  if (known !== undefined) return known;
  const made: Run = { members: [], outside: [], last: undefined };
  runs.set(run, made);
  return made;
}

function memberOf({ address, metadata }: Opened): Member {
  const { seq, prev, from, to, count, end } = metadata;
  return {
    address,
    seq,
    from,
    to,
    count,
    ...(prev === undefined ? {} : { prev }),
    ...(end === undefined ? {} : { end }),
  };
}

/** By number; segments arrive in any order. */
function bySeq(a: Member, b: Member): number {
  return a.seq - b.seq || compareText(a.address, b.address);
}

/** Whether the totals of a segment count, and not those of another one of its run. */
function supersedes(a: Opened, b: Opened): boolean {
  const [one, other] = [a.metadata, b.metadata];
  if (one.seq !== other.seq) return one.seq > other.seq;
  // After `lost`, a process that was only suspended goes on with the same number.
  if ((one.end === "lost") !== (other.end === "lost")) return other.end === "lost";
  if (one.totals.seen !== other.totals.seen) return one.totals.seen > other.totals.seen;
  return compareText(a.address, b.address) < 0;
}

/** @param members by their numbers */
function checkRun(run: string, members: readonly Member[], problems: ArchiveProblem[]): void {
  let before: readonly Member[] = [];
  for (const same of withSameNumber(members)) {
    const [{ seq }] = same;
    // After `lost`, a process that was only suspended goes on with the same number.
    const own = same.filter(({ end }) => end !== "lost");
    if (own.length > 1) {
      problems.push({
        kind: "duplicate",
        run,
        seq,
        addresses: own.map(({ address }) => address),
      });
    }
    const previous = before[0]?.seq;
    if (previous !== undefined && seq > previous + 1) {
      problems.push({ kind: "gap", run, from: previous + 1, to: seq - 1 });
    } else if (previous !== undefined) {
      const known = new Set(before.map(({ address }) => address));
      for (const { address, prev } of same) {
        if (prev === undefined || !known.has(prev)) {
          problems.push({ kind: "chain", run, seq, address });
        }
      }
    }
    before = same;
  }
}

function* withSameNumber(
  members: readonly Member[],
): Generator<readonly [first: Member, ...rest: Member[]]> {
  let group: [Member, ...Member[]] | undefined;
  for (const member of members) {
    if (group?.[0].seq === member.seq) group.push(member);
    else {
      if (group !== undefined) yield group;
      group = [member];
    }
  }
  if (group !== undefined) yield group;
}

/** @param members by their numbers */
function reportOf(run: string, members: readonly Member[], last: SegmentMetadata): RunReport {
  const { totals, end = "open" } = last;
  const dropped = Object.values(totals.dropped).reduce((sum, count) => sum + count, 0);
  const accounted = totals.stored + totals.notKept + dropped;
  return {
    run,
    from: members.reduce((first, { from }) => Math.min(first, from), Infinity),
    to: members.reduce((latest, { to }) => Math.max(latest, to), 0),
    segments: members.length,
    exchanges: members.reduce((sum, { count }) => sum + count, 0),
    firstSeq: members[0]!.seq,
    totals,
    lost: end === "open" ? 0 : Math.max(0, totals.seen - accounted),
    end,
  };
}
