import type { Bucket } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { ObjectsContext } from "../context.ts";
import { putRecord } from "./commit.ts";
import type { Tombstones } from "./delete.ts";

/** Adds a bucket; see `Objects.createBucket`. */
export async function createBucket(
  context: ObjectsContext,
  given: Omit<Bucket, "id">,
): Promise<{ readonly outcome: "created" | "exists"; readonly bucket: Bucket }> {
  await context.run.ready();
  const created = await context.catalog.createBucket(given);
  // Also if it exists: this may be another attempt, after the store had failed.
  await storePendingBuckets(context);
  return created;
}

/** Seals buckets into the store that were not stored when they were made. */
export async function storePendingBuckets(context: ObjectsContext): Promise<void> {
  const { catalog, run } = context;
  for (const bucket of await catalog.pendingBuckets()) {
    await run.ready();
    await putRecord(context, { type: "bucket", ...bucket }, new Uint8Array(0));
    await catalog.confirmBucket(bucket.id);
  }
}

/** Deletes an empty bucket; see `Objects.deleteBucket`. Its blob goes with the next sweep. */
export async function deleteBucket(
  { catalog, now, run }: ObjectsContext,
  tombstones: Tombstones,
  { id }: Bucket,
): Promise<void> {
  await run.ready();
  const outcome = await catalog.deleteBucket(id, now());
  if (outcome === "absent") throw new S3Error("NoSuchBucket");
  if (outcome === "not-empty") throw new S3Error("BucketNotEmpty");
  await tombstones.store([{ bucket: id, key: undefined, seq: id }]);
  await catalog.confirmTombstones([id]);
}
