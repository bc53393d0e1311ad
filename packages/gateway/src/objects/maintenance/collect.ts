import { randomUUID } from "node:crypto";
import { type Address, type CallOptions, StorageError } from "@idk/storage";
import { inParallel, parallelRequests } from "@idk/storage/blobs";
import type { Garbage } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import type { CollectReport } from "../objects.ts";
import { isMissing, mayPass } from "./inspect-root.ts";
import { withLease } from "./lease.ts";

/** Garbage taken from the catalog at once. */
const BATCH = 256;
/** Trees deleted at once, each blob after the one before it. */
const TREES_AT_ONCE = 64;

/** Makes a request when it is its turn, as long as the lease is held. */
type Ask = <T>(request: (given: CallOptions) => Promise<T>) => Promise<T>;

/**
 * Deletes garbage that is due; see `Maintenance.collect`.
 *
 * @throws S3Error `ServiceUnavailable` if the catalog is not that of the store, or incomplete: it does not
 *   know then what else needs the garbage
 */
export async function collectGarbage(
  context: ObjectsContext,
  signal?: AbortSignal,
): Promise<CollectReport | false> {
  const { catalog, now } = context;
  const requests = parallelRequests();
  const report = { blobs: 0, failed: 0 };
  if ((await catalog.dueGarbage(Number.MAX_SAFE_INTEGER, 1)).length === 0) return report;
  // What is due is so by the store's clock, which a process that has just begun does not know.
  await context.run.ready();
  const done = await withLease(context, "collector", randomUUID(), async (isHeld) => {
    for (let after: Garbage | undefined; ;) {
      // What cannot be deleted must not stop the rest.
      const due = await catalog.dueGarbage(now(), BATCH, after);
      after = due.at(-1);
      if (after === undefined || !isHeld() || signal?.aborted === true) return;
      await context.run.ready();
      const deleted: Address[] = [];
      const isOver = (): boolean => !isHeld() || signal?.aborted === true;
      const ask: Ask = (request) =>
        requests.one((given) => {
          // It may have waited for long.
          if (isOver()) throw new Error("another process may collect garbage now");
          return request({ ...given, signal });
        });
      await inParallel(due, TREES_AT_ONCE, async (garbage) => {
        if (isOver()) return;
        try {
          const blobs = await deleteGarbage(context, garbage, ask, signal);
          report.blobs += blobs;
          deleted.push(garbage.address);
        } catch (error) {
          if (isOver()) return;
          report.failed += 1;
          context.warn(`the blob ${garbage.address} cannot be deleted`, error);
        }
      });
      if (deleted.length > 0) await catalog.confirmGarbage(deleted);
    }
  });
  return done && report;
}

/**
 * Deletes a root and the blobs below it, from the leaves up: what is still there leads to the rest, so that
 * it can be done again. Without an identity, nobody knows those; they are left to the sweep of a gateway
 * that has one, as are those of a long manifest.
 *
 * @returns how many blobs were deleted
 */
async function deleteGarbage(
  { backend, contents, canRead, warn }: ObjectsContext,
  { address, kind }: Garbage,
  ask: Ask,
  signal: AbortSignal | undefined,
): Promise<number> {
  const below: Address[] = [];
  if (kind === "content" && canRead) {
    try {
      // A node comes before what is below it.
      for await (const blob of contents.treeAddresses(address, { signal })) {
        if (blob !== address) below.push(blob);
      }
    } catch (error) {
      if (isMissing(error)) {
        if ((await ask((given) => backend.head(address, given))) === undefined) return 0;
      } else if (!(error instanceof StorageError) || mayPass(error)) throw error;
      warn(`the content root ${address} is damaged: its chunks are left to a sweep`, error);
    }
  }
  for (const blob of [...below.toReversed(), address]) {
    await ask((given) => backend.delete(blob, given));
  }
  return below.length + 1;
}
