import type { Backend, ListedBlob } from "@idk/storage";
import { codeOf, Failure, messageOf, usage } from "../errors/failures.ts";
import { createBlobFailures, type ItemFailures } from "../errors/item-failures.ts";
import type { Session } from "../session.ts";
import { blobBatches } from "./batches.ts";
import {
  addTo,
  type Counts,
  newReport,
  type Position,
  readReport,
  type Report,
  type ReportedFailure,
  type Subject,
  writeReport,
} from "./report.ts";
import { prefixesOf, shardText } from "./shard.ts";
import { conclude } from "./summary.ts";

/** The report of a shard while it is worked on. */
export interface ShardProgress {
  readonly report: Report;
  /** Records that all is done up to a position, and what that gave. */
  record(position: Position, counts: Counts, failures: readonly ReportedFailure[]): Promise<void>;
  /** Records that all is done. */
  finish(counts?: Counts, failures?: readonly ReportedFailure[], shared?: Counts): Promise<void>;
}

/**
 * Begins or continues the work on a shard. Prints a note if an earlier run has begun or done it.
 *
 * @throws Failure `usage` if the file cannot be used, or is the report of something else
 */
export async function openProgress(
  path: string,
  subject: Subject,
  { out }: Session,
): Promise<ShardProgress> {
  const earlier = await readReport(path);
  if (earlier !== undefined) requireSame(earlier, subject, path);
  let report = earlier ?? newReport(subject);
  // At once, so that a file that cannot be written is noticed before the work.
  if (earlier === undefined) await writeReport(path, report);
  else if (!out.json) {
    const { position } = report;
    const after = position?.after ?? "";
    const where =
      position === undefined
        ? `is complete: delete ${path} to work on it again`
        : `continues${after === "" ? "" : ` after ${after.slice(0, 12)}`}`;
    await out.note(`idk: shard ${shardText(subject.shard)} ${where}`);
  }
  return {
    get report() {
      return report;
    },
    async record(position, counts, failures) {
      report = { ...addTo(report, counts, failures), position };
      await writeReport(path, report);
    },
    async finish(counts = {}, failures = [], shared = {}) {
      report = { ...addTo(report, counts, failures), shared, position: undefined };
      await writeReport(path, report);
    },
  };
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
  if (JSON.stringify(earlier.options) !== JSON.stringify(subject.options)) {
    throw usage(`${path} is the report of a run with other options: ${otherwise}`);
  }
}

/**
 * Works on the blobs of a shard in ascending order of addresses, batch by batch, and concludes.
 *
 * @param places the store, and perhaps its repository of snapshots
 * @param work works on blobs of one of them, and returns what it has counted besides failures
 */
export async function runShard(
  { path, subject }: { readonly path: string; readonly subject: Subject },
  places: readonly Backend[],
  work: (place: number, batch: readonly ListedBlob[], failures: ItemFailures) => Promise<Counts>,
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  const progress = await openProgress(path, subject, session);
  const { position } = progress.report;
  if (position !== undefined) {
    const prefixes = prefixesOf(subject.shard);
    try {
      for (const [place, backend] of places.entries()) {
        if (place < position.place) continue;
        const after = place === position.place ? position.after : "";
        for await (const batch of blobBatches(backend, prefixes, after, signal)) {
          const failures = recordedFailures(session);
          const counts = await work(place, batch, failures);
          // Not recorded, so that the next run tries the blobs of this batch again.
          if (failures.recorded.some(({ code }) => code === "unavailable")) {
            throw new Failure("unavailable", "the store could not answer for some blobs");
          }
          await progress.record({ place, after: batch.at(-1)!.name }, counts, failures.recorded);
        }
      }
      await progress.finish();
    } catch (error) {
      await out.flush();
      await noteLeft(subject, session);
      throw error;
    }
  }
  await conclude(progress.report, session);
}

/** Tells that a run that failed can be continued. */
export async function noteLeft({ shard }: Pick<Subject, "shard">, { out }: Session): Promise<void> {
  if (out.json) return;
  await out.note(
    `idk: shard ${shardText(shard)} is not complete: run the same command again to continue`,
  );
}

/** Failures that are printed, and kept for a report. */
function recordedFailures(
  session: Session,
): ItemFailures & { readonly recorded: readonly ReportedFailure[] } {
  const recorded: ReportedFailure[] = [];
  const failures = createBlobFailures(session);
  return {
    recorded,
    get count() {
      return failures.count;
    },
    async add(item, error) {
      await failures.add(item, error);
      recorded.push({ item, code: codeOf(error), message: messageOf(error) });
    },
    repeat: failures.repeat,
    throwIfAny: failures.throwIfAny,
  };
}
