import type { Address } from "@idk/storage";
import type { ObjectsContext } from "../context.ts";
import { decodeManifest, type Manifest } from "../identity/manifest.ts";
import { LineageError } from "../lineage/run.ts";
import { type Inspector, inspectRoot, isTransient } from "./inspect-root.ts";
import { listSnapshots } from "./snapshot-markers.ts";

/*
 * The rules by which nothing is lost that was acknowledged, and nothing comes back that was refused or
 * deleted, whatever happens to catalog and store:
 *
 * 1. A store has an ID, and its catalog remembers it. All sealed records name it under their MAC, so that
 *    those of another store with the same identity count for nothing.
 * 2. A gateway puts marks into its store as it goes on: one before its first write, and no write is
 *    committed without one of the last two minutes. The catalog remembers a mark before it is put. A
 *    catalog that does not remember a mark of its store is an old copy, or another is in use: it writes,
 *    collects, sweeps and snapshots nothing until it is rebuilt. A process that begins skips more numbers
 *    than a lost mark could stand for, so that no number is given out twice.
 * 3. A write is registered with its number before it stores anything, and until it is committed or its root
 *    is known to be gone. Its commit requires that the registration is alive; one that was silent for too
 *    long is dead for good. So a root that no row names is that of a failed write only if its number is
 *    registered as dead, if a later write or deletion of its key is known, or if a rebuild has judged it.
 *    Any other is kept with its content: its registration was lost when the machine stopped, because
 *    SQLite's does not wait for the disk, or the catalog is a copy that is not recognised. As long as there
 *    is one, roots of failed writes and tombstones are kept, too. If there are many, the sweep refuses.
 * 4. A root of a refused write is deleted, or declared void in the store, before the client is told that
 *    it was refused. If neither can be done, the claim stands, and the client is told that nobody knows.
 *    A write that is made of the version it replaces (a copy onto itself, tags) takes its number together with a
 *    reservation of that version, and writes with a lower one have to take another: so whatever was
 *    acknowledged since has a higher number than its root, if that was stored and never committed.
 * 5. A rebuild gives each key the highest seq that no tombstone buries, whose write is not void, that is not
 *    contradicted by a snapshot, and whose content roots are all there. It imports no others, so that no
 *    count of references falls to zero in between, and no content becomes garbage. A snapshot contradicts
 *    what has a lower seq, and is neither in it nor registered at its beginning.
 * 6. A catalog that a rebuild could not make complete writes and deletes nothing.
 * 7. What no row names as content, or as an object, is garbage; the collector asks again for each.
 * 8. A sweep goes by the store's clock alone, and stops at a root that a row names and that cannot be read.
 *
 * What is left: a catalog that was copied, and lost less than two minutes later, is not recognised. What was
 * being written at the moment of the copy, and acknowledged after it, is then taken for a failed write. And
 * a provider that keeps a deleted or overwritten root can put it back for a rebuild that uses no snapshot.
 */

/** What a catalog knew when a sweep began. */
export interface Before {
  readonly snapshot: { readonly seq: number; readonly name: string };
}

/** A snapshot that is in the store. */
export interface FoundSnapshot {
  readonly address: Address;
  readonly catalog: string;
  readonly seq: number;
  readonly time: number;
  readonly manifest: Manifest;
}

/**
 * The snapshots that the markers lead to, the newest first. One that is gone, is not authentic or was made
 * for another store does not count. Without an identity there are none.
 *
 * @throws StorageError `unavailable`, because another snapshot must not be taken for the newest one then
 */
export async function* findSnapshots(
  inspector: Inspector,
  signal?: AbortSignal,
): AsyncGenerator<FoundSnapshot> {
  const { backend, identities } = inspector;
  if (identities.length === 0) return;
  for (const { address, seq } of await listSnapshots(backend, signal)) {
    const size = (await backend.head(address, { signal }))?.size;
    if (size === undefined) continue;
    const inspected = await inspectRoot(inspector, { address, size }, signal);
    if (inspected.kind === "unknown" && isTransient(inspected.error)) throw inspected.error;
    if (inspected.kind !== "record" || inspected.record.type !== "snapshot") continue;
    const { record } = inspected;
    // The name of a marker proves nothing.
    if (record.seq !== seq) continue;
    yield { ...record, address, manifest: decodeManifest(inspected.content) };
  }
}

/**
 * Requires that the catalog is complete and the store's, no old copy, and remembers the store's newest
 * snapshot.
 *
 * @throws LineageError
 */
export async function requireLineage(
  context: ObjectsContext,
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<Before> {
  await requireNewest(context, inspector, signal);
  const { snapshot } = await context.catalog.lineage();
  if (snapshot === undefined) {
    throw new LineageError(
      "the store has no snapshot of the catalog yet: start a gateway with it, which stores one when it starts, and try again",
    );
  }
  return { snapshot };
}

/**
 * The same for a catalog that may have stored no snapshot yet.
 *
 * @throws LineageError
 */
export async function requireNewest(
  { catalog, run }: ObjectsContext,
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((await run.check(signal)) === undefined) return;
  for await (const newest of findSnapshots(inspector, signal)) {
    const { snapshot } = await catalog.lineage();
    if (newest.seq <= (snapshot?.seq ?? -1)) return;
    throw new LineageError(
      "the store has a newer snapshot than this catalog remembers: the catalog is an old copy. Rebuild it",
    );
  }
}
