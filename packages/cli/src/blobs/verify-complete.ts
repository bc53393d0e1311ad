import type { ScannedBlob, Store, VerifyReport } from "@idk/storage";
import { codeOf, Failure } from "../errors/failures.ts";
import { createBlobFailures } from "../errors/item-failures.ts";
import { count, formatBytes } from "../output/text.ts";
import type { Session } from "../session.ts";
import { isRemoved } from "./address.ts";
import type { Listed } from "./address-list.ts";
import { runAddresses } from "./run-many.ts";

/** Trees checked concurrently. */
const AT_ONCE = 4;

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
  const { out, signal } = session;
  const failures = createBlobFailures(session);
  const sum = { roots: 0, bytes: 0, chunks: 0, verified: 0, closed: 0, removed: 0 };
  using meter = session.progress.start({ command: "verify", noun: "root" });
  const check = async (address: string, stop: AbortSignal): Promise<void> => {
    const update = meter.part();
    const options = { complete: true, signal: stop, onProgress: update };
    let report: VerifyReport;
    try {
      report = await opened.verify(address, options);
    } catch (error) {
      if (targets !== undefined || !(await isRemoved(opened, address, error, stop))) throw error;
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
    stopIfRefused: true,
  };
  const roots = targets ?? rootsIn(opened.scan({ signal }), () => (sum.closed += 1));
  await runAddresses(roots, check, options, session);
  meter.finish();
  await out.flush();
  const { roots: checked, bytes, chunks, verified, closed, removed } = sum;
  const how =
    chunks === 0
      ? ""
      : `: ${verified} of ${count(chunks, "chunk")} by server checksum, ${chunks - verified} by size`;
  const others = closed === 0 ? "" : `; ${count(closed, "root")} for other recipients not checked`;
  const gone = removed === 0 ? "" : `, ${removed} removed during the check`;
  const result =
    checked === 0
      ? failures.count > 0
        ? "no root was found complete"
        : "no root opened: nothing was checked"
      : `checked ${count(checked, "root")}; the store reports all chunks, ${formatBytes(bytes)}${how}`;
  const snapshots = hasSnapshots ? "; `idk check` checks snapshots" : "";
  await out.note(`${result}; ${failures.count || "none"} failed${gone}${others}${snapshots}`);
  failures.throwIfAny(sum.roots + failures.count);
  if (checked === 0 && closed > 0) {
    throw new Failure(
      "no-match",
      "none of your identities opens a root of this store: nothing was checked for completeness",
    );
  }
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
