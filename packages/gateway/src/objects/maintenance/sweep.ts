import { randomUUID } from "node:crypto";
import type { Address } from "@idk/storage";
import { S3Error } from "../../errors.ts";
import { discard, type ObjectsContext } from "../context.ts";
import type { IdentityRecord } from "../identity/records.ts";
import { LineageError } from "../lineage/run.ts";
import type { SweepOptions, SweepReport } from "../objects.ts";
import { inParallel } from "./in-parallel.ts";
import { type Inspector, inspectRoot } from "./inspect-root.ts";
import { withLease } from "./lease.ts";
import { requireLineage } from "./lineage.ts";
import { findLiveContent } from "./live-content.ts";

const DAY = 24 * 60 * 60_000;
/** Clocks of gateways, compared with the store's, may differ by less. */
const CLOCK_MARGIN = 5 * 60_000;
/** Addresses that the catalog is asked for at once. */
const BATCH = 1000;
/** Orphans deleted by one sweep; a later one finds the rest. */
const ORPHANS_MAX = 1_000_000;
const REPORTED_MAX = 1000;

/**
 * Deletes blobs that nothing refers to: of writes that crashed, of old snapshots, of deleted buckets.
 *
 * A sweep with a catalog that is not the store's, or an old copy of it, would delete live data. So the sweep
 * refuses if the store has marks that this catalog does not remember; and all orphans are looked at before
 * the first one is deleted, and it refuses if one of them is an object that this catalog should know of. See
 * `judgeObject`, and lineage.ts for the rules.
 */
export async function sweep(
  context: ObjectsContext,
  inspector: Inspector,
  options: SweepOptions = {},
): Promise<SweepReport> {
  const report = { blobs: 0, orphans: 0, deleted: 0, forged: [] as string[] };
  if (!context.canRead) {
    throw new S3Error("AccessDenied", "A sweep opens roots: run it with an identity.");
  }
  try {
    const done = await withLease(context, "sweep", randomUUID(), (isHeld) =>
      sweepStore(context, inspector, options, report, isHeld),
    );
    return done ? report : { ...report, refused: "another process sweeps now" };
  } catch (error) {
    if (error instanceof LineageError) return { ...report, refused: error.message };
    throw error;
  }
}

async function sweepStore(
  context: ObjectsContext,
  inspector: Inspector,
  { minAge = DAY, dryRun = false, signal }: SweepOptions,
  report: { blobs: number; orphans: number; deleted: number; forged: string[] },
  isHeld: () => boolean,
): Promise<void> {
  const { backend, catalog, now } = context;
  const before = await requireLineage(context, inspector, signal);
  const cutoff = await ageLimit(context, minAge);
  const live = await findLiveContent(context, inspector, before.snapshot, signal);
  const old: Address[] = [];
  const tombstones: Address[] = [];
  let unread = 0;

  const examine = async (
    listed: readonly { address: Address; size: number; isOld: boolean }[],
  ): Promise<void> => {
    const known = await catalog.findKnown(listed.map(({ address }) => address));
    const orphans = listed.filter(({ address }) => !known.has(address) && !live.has(address));
    // Content that moved from row to row while they were read.
    for (const { address } of listed) {
      if (known.has(address)) await live.addIfContent(address);
    }
    await inParallel(orphans, async ({ address, size, isOld }) => {
      const inspected = await inspectRoot(inspector, { address, size }, signal);
      if (inspected.kind === "forged") {
        if (report.forged.length < REPORTED_MAX) report.forged.push(address);
        return;
      }
      // Not ours to judge. A rebuild would report it.
      if (inspected.kind === "unknown") {
        unread += 1;
        return;
      }
      if (inspected.kind === "record") {
        const { record } = inspected;
        if (record.type === "tombstones") {
          if (isOld && tombstones.length < ORPHANS_MAX) tombstones.push(address);
          return;
        }
        if (record.type === "bucket") {
          if ((await catalog.findBucket(record.name))?.id === record.id) return;
        }
        if (record.type === "object" && isOld) {
          if (!(await judgeObject(context, record, address))) return;
        }
      }
      if (isOld && old.length < ORPHANS_MAX) old.push(address);
    });
  };

  let batch: { address: Address; size: number; isOld: boolean }[] = [];
  for await (const { name, size, storedAt } of backend.list("", { signal })) {
    report.blobs += 1;
    batch.push({
      address: name as Address,
      size,
      isOld: storedAt !== undefined && storedAt < cutoff,
    });
    if (batch.length < BATCH) continue;
    await examine(batch);
    batch = [];
  }
  await examine(batch);

  // Once more: chunks of content that became known meanwhile, and writes that were committed.
  const orphans: Address[] = [];
  for (let start = 0; start < old.length; start += BATCH) {
    const some = old.slice(start, start + BATCH);
    const known = await catalog.findKnown(some);
    orphans.push(...some.filter((address) => !known.has(address) && !live.has(address)));
  }
  // What they bury is deleted first, and nothing that they bury may be left in the queue.
  const isLast = orphans.length < ORPHANS_MAX && (await catalog.dueGarbage(now(), 1)).length === 0;
  const buried = isLast ? tombstones : [];
  report.orphans = orphans.length + buried.length;
  if (dryRun) return;
  // Another catalog may have come into use meanwhile.
  await context.run.check(signal);
  for (const group of [orphans, buried]) {
    for (let start = 0; start < group.length; start += BATCH) {
      if (!isHeld()) throw new LineageError("the lease was lost: another process may sweep now");
      signal?.throwIfAborted();
      const some = group.slice(start, start + BATCH);
      // A tombstone must not go before what it buries.
      if (!(await discard(context, some))) throw new LineageError("blobs could not be deleted");
      report.deleted += some.length;
    }
  }
  // Their roots were all old enough to be judged, and are gone.
  if (isLast && unread === 0) await catalog.forgetDeadWrites(cutoff);
}

/**
 * Whether an identity that no row names can be deleted: if a later version or deletion of its key is known,
 * or if its write is known to have failed. False if it is being committed.
 *
 * @throws LineageError if the catalog should know of it: it may have been acknowledged
 */
async function judgeObject(
  { catalog }: ObjectsContext,
  { bucket, key, seq }: IdentityRecord,
  address: Address,
): Promise<boolean> {
  const fate = await catalog.fateOf(bucket, key, seq);
  if (fate !== "unknown") return fate === "replaced" || fate === "failed";
  throw new LineageError(
    `the store has the root ${address} of an object that this catalog should know of: it may be an old copy. Rebuild it`,
  );
}

/**
 * Before which time blobs are old: also before the oldest write that is still running. All by the store's
 * clock, as the catalog has the times of writes.
 */
async function ageLimit({ catalog, now }: ObjectsContext, minAge: number): Promise<number> {
  const at = now();
  const oldest = await catalog.oldestWrite(at);
  return Math.min(at - minAge, (oldest?.started ?? at) - CLOCK_MARGIN);
}
