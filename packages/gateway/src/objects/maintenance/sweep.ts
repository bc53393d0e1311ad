import { randomUUID } from "node:crypto";
import type { Address } from "@idk/storage";
import { parallelBlobs } from "@idk/storage/blobs";
import { S3Error } from "../../errors.ts";
import { discard, type ObjectsContext } from "../context.ts";
import { decodeManifest } from "../identity/manifest.ts";
import type { IdentityRecord } from "../identity/records.ts";
import { LineageError } from "../lineage/run.ts";
import type { SweepOptions, SweepReport } from "../objects.ts";
import { type InspectedBlob, type Inspector, inspectRoot } from "./inspect-root.ts";
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
 * A power failure may lose the registrations of the writes that were in progress. A copy of the catalog
 * lacks all that was written since: if there are more, it is taken for one.
 */
const UNKNOWN_MAX = 100;

/**
 * Deletes blobs that nothing refers to: of writes that crashed, of old snapshots, of deleted buckets.
 *
 * A sweep with a catalog that is not the store's, or an old copy of it, would delete live data. So the sweep
 * refuses if the store has marks that this catalog does not remember; and all orphans are looked at before
 * the first one is deleted. Objects that this catalog should know of are kept with their content, and if
 * there are many, the sweep refuses. See lineage.ts for the rules.
 *
 * So it cannot sweep a part of the store alone: such an object may be in another part, and its chunks are in
 * all of them.
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
  const { backend, catalog, now, warn } = context;
  const before = await requireLineage(context, inspector, signal);
  const cutoff = await ageLimit(context, minAge);
  const blobs = parallelBlobs(backend);
  const live = await findLiveContent(context, inspector, before.snapshot, signal);
  const old: Address[] = [];
  const failed: { address: Address; size: number }[] = [];
  const tombstones: Address[] = [];
  let unread = 0;
  let unknown = 0;

  const keep = async (address: Address, inspected: InspectedBlob): Promise<void> => {
    if (inspected.kind !== "record" || inspected.record.type !== "object") return;
    if (inspected.record.kind === "inline") return;
    await live.addObject(address, decodeManifest(inspected.content).contents);
  };
  const judge = async (
    record: IdentityRecord,
    blob: { address: Address; size: number; isOld: boolean },
    inspected: InspectedBlob,
  ): Promise<void> => {
    const { address, size, isOld } = blob;
    const fate = await catalog.fateOf(record.bucket, record.key, record.seq);
    if (fate === "unknown") {
      unknown += 1;
      const many = `the store has roots of objects that this catalog should know of, such as ${address}`;
      if (unknown > UNKNOWN_MAX) {
        throw new LineageError(`${many}: it may be an old copy. Rebuild it`);
      }
      if (unknown === 1) {
        warn(
          `${many}: it is an old copy, or the machine stopped. They are kept; a rebuild judges them`,
        );
      }
      await keep(address, inspected);
    } else if (!isOld || old.length + failed.length >= ORPHANS_MAX) return;
    else if (fate === "failed") failed.push({ address, size });
    else if (fate === "replaced") old.push(address);
  };

  const examine = async (
    listed: readonly { address: Address; size: number; isOld: boolean }[],
  ): Promise<void> => {
    const known = await catalog.findKnown(listed.map(({ address }) => address));
    const orphans = listed.filter(({ address }) => !known.has(address) && !live.has(address));
    // Content that moved from row to row while they were read.
    for (const { address } of listed) {
      if (known.has(address)) await live.addIfContent(address);
    }
    await blobs.each(orphans, async ({ address, size, isOld }, from) => {
      const inspected = await inspectRoot(
        { ...inspector, backend: from },
        { address, size },
        signal,
      );
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
        if (record.type === "object") {
          await judge(record, { address, size, isOld }, inspected);
          return;
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

  // If this is a copy, a write that was in progress then may have been acknowledged since.
  if (unknown === 0) old.push(...failed.map(({ address }) => address));
  else {
    await blobs.each(failed, async (blob, from) =>
      keep(blob.address, await inspectRoot({ ...inspector, backend: from }, blob, signal)),
    );
  }

  // Once more: chunks of content that became known meanwhile, and writes that were committed.
  const orphans: Address[] = [];
  for (let start = 0; start < old.length; start += BATCH) {
    const some = old.slice(start, start + BATCH);
    const known = await catalog.findKnown(some);
    orphans.push(...some.filter((address) => !known.has(address) && !live.has(address)));
  }
  // What they bury is deleted first, and nothing that they bury may be left: not in the queue, and not among
  // what was kept.
  const isLast =
    orphans.length < ORPHANS_MAX &&
    unread === 0 &&
    unknown === 0 &&
    (await catalog.dueGarbage(now(), 1)).length === 0;
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
  if (isLast) await catalog.forgetDeadWrites(cutoff);
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
