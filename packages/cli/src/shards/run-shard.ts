import type { Backend, ListedBlob } from "@idk/storage";
import { codeOf, Failure, isUnanswered, messageOf, usage } from "../errors/failures.ts";
import { createBlobFailures, type ItemFailures } from "../errors/item-failures.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { blobBatches } from "./batches.ts";
import {
  addTo,
  type Counts,
  newReport,
  now,
  otherOption,
  type Outcome,
  type Position,
  readReport,
  type Report,
  type ReportedFailure,
  type Subject,
  type UnansweredBlob,
  withoutUnanswered,
  writeReport,
} from "./report.ts";
import { prefixesOf, shardText } from "./shard.ts";
import { conclude, momentText, noteStopped } from "./summary.ts";

/** The report of a shard while it is worked on. */
export interface ShardProgress {
  readonly report: Report;
  /** Records that all is done up to a position, and what that gave. */
  record(position: Position, outcome: Partial<Outcome>): Promise<void>;
  /** Keeps what came of blobs that were tried again, and records it at most once a second. */
  replace(tried: readonly UnansweredBlob[], outcome: Outcome): Promise<void>;
  /** Records what `replace` keeps. */
  save(): Promise<void>;
  /** Records that all is done. */
  finish(outcome?: Partial<Outcome>, shared?: Counts): Promise<void>;
}

/** Milliseconds between two records of blobs that were tried again, because only a few are at once. */
const INTERVAL = 1000;

/**
 * Begins or continues the work on a shard. Prints a note if an earlier run has begun or done it.
 *
 * @throws Failure `usage` if the file cannot be used, or is the report of something else; `unavailable` if
 *   there is work left on a store with snapshots, which are not there now
 */
export async function openProgress(
  path: string,
  subject: Subject,
  { out }: Session,
): Promise<ShardProgress> {
  const earlier = await readReport(path);
  if (earlier !== undefined) requireSame(earlier, subject, path);
  let report = earlier === undefined ? newReport(subject) : withPlaces(earlier, subject);
  // At once, so that a file that cannot be written is noticed before the work, and a run that ends early leaves
  // what it has seen.
  if (report !== earlier) await writeReport(path, report);
  if (earlier !== undefined && !out.json) {
    await out.note(`idk: shard ${shardText(subject.shard)} ${stateOf(report, path)}`);
  }
  let tried: UnansweredBlob[] = [];
  let outcomes: Outcome[] = [];
  let savedAt = -Infinity;
  const save = async (): Promise<void> => {
    if (tried.length === 0) return;
    report = { ...addTo(withoutUnanswered(report, tried), ...outcomes), ended: now() };
    [tried, outcomes] = [[], []];
    await writeReport(path, report);
    savedAt = performance.now();
  };
  return {
    get report() {
      return report;
    },
    async record(position, outcome) {
      report = { ...addTo(report, outcome), position };
      await writeReport(path, report);
    },
    async replace(blobs, outcome) {
      tried.push(...blobs);
      outcomes.push(outcome);
      if (performance.now() - savedAt >= INTERVAL) await save();
    },
    save,
    async finish(outcome = {}, shared = {}) {
      report = { ...addTo(report, outcome), shared, position: undefined, ended: now() };
      await writeReport(path, report);
    },
  };
}

function stateOf(report: Report, path: string): string {
  const { position, ended, unanswered } = report;
  if (position !== undefined) {
    return `continues${position.after === "" ? "" : ` after ${position.after.slice(0, 12)}`}`;
  }
  return unanswered.length === 0
    ? `is complete since ${momentText(ended)}: delete ${path} to work on it again`
    : `continues with ${count(unanswered.length, "blob")} that the store did not answer for`;
}

function requireSame(earlier: Report, subject: Subject, path: string): void {
  const otherwise = "name another file with --report, or delete this one to begin again";
  const differs = (what: string, theirs: string, ours: string): Error =>
    usage(`${path} is the report of ${what} ${theirs}, not ${ours}: ${otherwise}`);
  if (earlier.command !== subject.command) {
    throw differs("the command", earlier.command, subject.command);
  }
  const [theirs, ours] = [shardText(earlier.shard), shardText(subject.shard)];
  if (theirs !== ours) throw differs("the shard", theirs, ours);
  const [from, to] = [earlier.stores.join(" to "), subject.stores.join(" to ")];
  if (from !== to) throw differs("the store", from, to);
  const option = otherOption(earlier, subject);
  if (option !== undefined) throw differs(`a run with ${option.name} set to`, ...option.values);
  const isDone = earlier.position === undefined && earlier.unanswered.length === 0;
  // A run without them would be complete without a look at them.
  if (!isDone && (earlier.places ?? 0) > (subject.places ?? 0)) {
    throw new Failure(
      "unavailable",
      `${path} is the report of a store with snapshots, which are not there now: check the path or the ` +
        "mount, or delete the report to begin again",
    );
  }
}

/** A store may have got its first snapshots since the last run. */
function withPlaces(earlier: Report, { places = 0 }: Subject): Report {
  const isKnown = earlier.position === undefined || places <= (earlier.places ?? 0);
  return isKnown ? earlier : { ...earlier, places };
}

/** Blobs that a command works on between two records of the progress. */
export interface Batch {
  /** The index of the backend that has them. */
  readonly place: number;
  readonly blobs: readonly ListedBlob[];
  readonly failures: ItemFailures;
  /** How many of the blobs the report counts as failed until now: none, or all if they are tried again. */
  readonly failedBefore: number;
}

/** Blobs tried again at once: fewer than what a copy takes for a store that is down if they fail in a row. */
const RETRIED_AT_ONCE = 4;

/**
 * Works on the blobs of a shard in ascending order of addresses, batch by batch, then tries those
 * again that the store did not answer for in earlier runs, and concludes. Fails if blobs that were listed are
 * gone and the store lists none at all, because that is how a missing mount looks, and if it neither answers for
 * blobs that are tried again nor lists any.
 *
 * @param places the store, and perhaps its repository of snapshots
 * @param work works on blobs of one of them, and returns what it has counted besides failures; throws if
 *   the store as a whole does not answer, so that the next run begins with this batch
 */
export async function runShard(
  { path, subject }: { readonly path: string; readonly subject: Subject },
  places: readonly Backend[],
  work: (batch: Batch) => Promise<Counts>,
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  const progress = await openProgress(path, { ...subject, places: places.length }, session);
  // Not those of this run, for which the store may need some time.
  const { position, unanswered } = progress.report;
  const requireBlobs = async (backend: Backend): Promise<void> => {
    for await (const _ of backend.list("", { signal })) return;
    throw new Failure(
      "unavailable",
      `${backend.description} has no blobs now, but it had some before: check the path or the mount; if they ` +
        `were deleted, delete ${path} to begin again`,
    );
  };
  const workOn = async (
    place: number,
    blobs: readonly ListedBlob[],
    failedBefore: number,
  ): Promise<Outcome> => {
    const failures = recordedFailures(place, blobs, session);
    const counts = await work({ place, blobs, failures, failedBefore });
    const { recorded } = failures;
    // All blobs that are tried again may fail though the store is up, or each after a minute because it is down.
    const isSilent = failedBefore > 0 && recorded.unanswered.length === blobs.length;
    if (isSilent || (counts["removed"] ?? 0) > 0) await requireBlobs(places[place]!);
    return { counts, ...recorded };
  };
  try {
    if (position !== undefined) {
      const prefixes = prefixesOf(subject.shard);
      for (const [place, backend] of places.entries()) {
        if (place < position.place) continue;
        const after = place === position.place ? position.after : "";
        for await (const blobs of blobBatches(backend, prefixes, after, signal)) {
          const outcome = await workOn(place, blobs, 0);
          await progress.record({ place, after: blobs.at(-1)!.name }, outcome);
        }
        const reached = progress.report.position;
        // A store that is not mounted has nothing left to list, either.
        if (reached?.place === place && reached.after !== "") await requireBlobs(backend);
      }
      await progress.finish();
    }
    for (const place of places.keys()) {
      const here = unanswered.filter((blob) => blob.place === place);
      for (let at = 0; at < here.length; at += RETRIED_AT_ONCE) {
        const tried = here.slice(at, at + RETRIED_AT_ONCE);
        await progress.replace(tried, await workOn(place, tried, tried.length));
      }
    }
    await progress.save();
  } catch (error) {
    // Those that are not recorded are tried again. Why the run ends matters more.
    await progress.save().catch(() => {});
    await out.flush();
    await noteStopped(error, progress.report, session);
    throw error;
  }
  await conclude(progress.report, session);
}

/** Failures that are printed, and kept for a report. */
function recordedFailures(
  place: number,
  blobs: readonly ListedBlob[],
  session: Session,
): ItemFailures & { readonly recorded: Omit<Outcome, "counts"> } {
  const recorded = { failures: [] as ReportedFailure[], unanswered: [] as UnansweredBlob[] };
  const failures = createBlobFailures(session);
  return {
    recorded,
    get count() {
      return failures.count;
    },
    async add(item, error) {
      await failures.add(item, error);
      const code = codeOf(error);
      const blob = isUnanswered(code) ? blobs.find(({ name }) => name === item) : undefined;
      recorded.failures.push({ item, code, message: messageOf(error) });
      if (blob) recorded.unanswered.push({ place, name: blob.name, size: blob.size, code });
    },
    repeat: failures.repeat,
    throwIfAny: failures.throwIfAny,
  };
}
