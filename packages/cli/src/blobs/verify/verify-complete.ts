import type { ScannedBlob, Store, VerifyReport } from "@idk/storage";
import { codeOf, Failure } from "../../errors/failures.ts";
import { createBlobFailures, type ItemFailures } from "../../errors/item-failures.ts";
import { count, formatBytes } from "../../output/text.ts";
import type { Meter } from "../../progress/meter.ts";
import type { Session } from "../../session.ts";
import { isRemoved } from "../address.ts";
import type { Listed, Target } from "../address-list.ts";
import { createRefusals, type Refusals, runAddresses } from "../run-many.ts";

/** Roots checked concurrently. The library checks the chunks of a few of them at once. */
const AT_ONCE = 64;

/** What was checked, without failures. */
export interface CompleteCounts {
  readonly roots: number;
  /** Stored bytes of the roots and all below them. */
  readonly bytes: number;
  readonly chunks: number;
  /** Chunks that the server verified the checksum of. */
  readonly verified: number;
  /** Roots that no identity opens. */
  readonly closed: number;
  /** Roots that were removed after they were listed. */
  readonly removed: number;
}

/**
 * Checks that no chunk is missing below roots, without downloading chunks.
 *
 * @param targets the roots; undefined for all that the identities open
 * @param hasSnapshots whether the store also has snapshots, which are not checked here
 * @throws Failure of the worst failure; `no-match` if there are roots and the identities open none
 */
export async function verifyComplete(
  opened: Pick<Store, "list" | "scan" | "verify">,
  targets: AsyncIterable<Listed> | undefined,
  hasSnapshots: boolean,
  session: Session,
): Promise<void> {
  const { out } = session;
  const failures = createBlobFailures(session);
  using meter = session.progress.start({ command: "verify", noun: "root" });
  const run = { refusals: createRefusals("item"), failures, meter };
  const counts = await checkRoots(opened, targets, run, session);
  meter.finish();
  await out.flush();
  const snapshots = hasSnapshots ? "; `idk check` checks snapshots" : "";
  await out.note(`${describeComplete(counts, failures.count)}${snapshots}`);
  failures.throwIfAny(counts.roots + failures.count);
  const failure = nothingOpened(counts);
  if (failure !== undefined) throw failure;
}

export interface CompleteRun {
  /** Ends the run if the store fails many roots in a row. */
  readonly refusals: Refusals | undefined;
  readonly failures: ItemFailures;
  readonly meter: Meter;
}

/** Checks roots, and prints each. */
export async function checkRoots(
  opened: Pick<Store, "list" | "scan" | "verify">,
  targets: AsyncIterable<Listed> | undefined,
  { refusals, failures, meter }: CompleteRun,
  session: Session,
): Promise<CompleteCounts> {
  const { out } = session;
  const sum = { roots: 0, bytes: 0, chunks: 0, verified: 0, closed: 0, removed: 0 };
  const check = async ({ address }: Target, signal: AbortSignal): Promise<void> => {
    const update = meter.part();
    let report: VerifyReport;
    try {
      report = await opened.verify(address, { complete: true, signal, onProgress: update });
    } catch (error) {
      if (targets !== undefined || !(await isRemoved(opened, address, error, signal))) throw error;
      sum.removed += 1;
      await out.report({ ok: true, address, removed: true });
      return;
    }
    const { chunks = 0, verifiedByServer = 0 } = report.completeness ?? {};
    sum.roots += 1;
    sum.bytes += report.bytes;
    sum.chunks += chunks;
    sum.verified += verifiedByServer;
    await out.report(jsonOf(report));
  };
  const options = {
    concurrency: AT_ONCE,
    failures,
    onDone: () => meter.itemDone(),
    refusals,
  };
  const { signal } = session;
  const roots = targets ?? rootsIn(opened.scan({ signal }), () => (sum.closed += 1));
  await runAddresses(roots, check, options, session);
  return sum;
}

/** The summary. @param failed how many roots failed */
export function describeComplete(counts: CompleteCounts, failed: number): string {
  const { roots, bytes, chunks, verified, closed, removed } = counts;
  const how =
    chunks === 0
      ? ""
      : `: ${verified} of ${count(chunks, "chunk")} by server checksum, ${chunks - verified} by size`;
  const others = closed === 0 ? "" : `; ${count(closed, "root")} for other recipients not checked`;
  const gone = removed === 0 ? "" : `, ${removed} removed during the check`;
  const result =
    roots === 0
      ? failed > 0
        ? "no root was found complete"
        : "no root opened: nothing was checked"
      : `checked ${count(roots, "root")}; the store reports all chunks, ${formatBytes(bytes)}${how}`;
  return `${result}; ${failed || "none"} failed${gone}${others}`;
}

/** The failure of a check of a store that has roots, none of which an identity opens. */
export function nothingOpened({ roots, closed }: CompleteCounts): Failure | undefined {
  if (roots > 0 || closed === 0) return undefined;
  return new Failure(
    "no-match",
    "none of your identities opens a root of this store: nothing was checked for completeness",
  );
}

/** The roots that open, and the blobs that cannot be read. */
async function* rootsIn(
  blobs: AsyncIterable<ScannedBlob>,
  onClosed: () => void,
): AsyncGenerator<Listed> {
  for await (const blob of blobs) {
    const { address } = blob;
    if (blob.kind === "closed") onClosed();
    else if (blob.kind === "opened") yield { given: address, address };
    else if (blob.kind === "failed") {
      // Whether it was removed since it was listed is looked at when it is checked.
      const isGone = codeOf(blob.error) === "not-found";
      yield isGone ? { given: address, address } : { given: address, error: blob.error };
    }
  }
}

function jsonOf(report: VerifyReport): object {
  const { address, kind, blobs, bytes, verifiedByServer, completeness } = report;
  return {
    ok: true,
    address,
    kind,
    blobs,
    bytes,
    attested: verifiedByServer,
    deep: false,
    complete: true,
    chunks: completeness?.chunks,
    attestedChunks: completeness?.verifiedByServer,
  };
}
