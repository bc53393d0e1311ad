import type { Bucket, StoredObject } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { ObjectsContext } from "../context.ts";
import { type Deletion, encodeDeletions } from "../identity/manifest.ts";
import type { DeleteTarget } from "../objects.ts";
import { putRecord, refused } from "./commit.ts";

/** Stores deletions, so that a rebuild does not bring back what was deleted. */
export interface Tombstones {
  /** False if none are kept. */
  readonly areKept: boolean;
  /** Resolves once all of them are in the store. Those of calls at the same time share a blob. */
  store(deletions: readonly Deletion[]): Promise<void>;
}

/** Deletions in a blob, so that it stays below 1 MiB with the longest keys. */
const BATCH_MAX = 900;

export function createTombstones(context: ObjectsContext): Tombstones {
  let waiting: Deletion[] = [];
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();

  const storeWaiting = async (): Promise<void> => {
    next = undefined;
    const batch = waiting;
    waiting = [];
    for (let start = 0; start < batch.length; start += BATCH_MAX) {
      const content = encodeDeletions(batch.slice(start, start + BATCH_MAX));
      await putRecord(context, { type: "tombstones" }, content);
    }
  };

  return {
    areKept: true,
    store(deletions) {
      waiting.push(...deletions);
      // Begins when the batch before is stored; what comes until then joins it.
      next ??= running = running.catch(() => {}).then(storeWaiting);
      return next;
    },
  };
}

/** Deletes objects; see `Objects.deleteObjects`. */
export async function deleteObjects(
  context: ObjectsContext,
  tombstones: Tombstones,
  bucket: Bucket,
  targets: readonly DeleteTarget[],
): Promise<readonly (StoredObject | undefined | Error)[]> {
  const { catalog, now, collectSoon, run } = context;
  await run.ready();
  const results = await catalog.deleteObjects(bucket.id, targets, {
    isBuried: tombstones.areKept,
    now: now(),
  });
  const deletions: Deletion[] = [];
  const answers = results.map((result) => {
    if (result.outcome === "no-bucket") return new S3Error("NoSuchBucket");
    if (result.outcome !== "deleted") return refused(result.outcome);
    deletions.push(result.tombstone);
    return result.object;
  });
  if (deletions.length > 0) {
    await tombstones.store(deletions);
    await catalog.confirmTombstones(deletions.map(({ seq }) => seq));
    collectSoon();
  }
  return answers;
}

/** Stores the tombstones that were not stored when their deletion was committed. */
export async function storePendingTombstones(
  { catalog, run }: ObjectsContext,
  tombstones: Tombstones,
): Promise<void> {
  for (let after = 0; ;) {
    const pending = await catalog.pendingTombstones(after, BATCH_MAX);
    const last = pending.at(-1);
    if (last === undefined) return;
    await run.ready();
    await tombstones.store(
      pending.map(({ bucket, key, seq }) => {
        return { bucket, seq, key: key.length === 0 ? undefined : key };
      }),
    );
    await catalog.confirmTombstones(pending.map(({ seq }) => seq));
    after = last.seq;
  }
}
