import type { Address } from "@idk/storage";
import type { ObjectsContext } from "../context.ts";
import { decodeManifest, type Manifest } from "../identity/manifest.ts";
import { type Inspector, inspectRoot } from "./inspect-root.ts";
import { listSnapshots } from "./snapshot-markers.ts";

/*
 * Whether a catalog is the one of its store. A catalog that is another store's, empty, or restored from
 * a copy does not name objects that clients were told are stored. Each snapshot of a catalog in its store
 * says how far it had come; a catalog that remembers less is not to be trusted with deletions.
 */

/** A catalog that does not know all of its store. */
export class LineageError extends Error {
  override readonly name = "LineageError";
}

/** What a catalog knew when a sweep began. */
export interface Before {
  readonly catalogId: string;
  readonly seq: number;
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

/** Markers that are followed: more would be made by somebody to cause work. */
const MARKERS_MAX = 100;

/**
 * The snapshots that the markers lead to, the newest first. One that is gone, or is not authentic, does
 * not count. Without an identity there are none.
 */
export async function* findSnapshots(
  inspector: Inspector,
  signal?: AbortSignal,
): AsyncGenerator<FoundSnapshot> {
  const { backend, identities } = inspector;
  if (identities.length === 0) return;
  for (const { address, seq } of (await listSnapshots(backend, signal)).slice(0, MARKERS_MAX)) {
    const size = (await backend.head(address, { signal }))?.size;
    if (size === undefined) continue;
    const inspected = await inspectRoot(inspector, { address, size }, signal);
    if (inspected.kind !== "record" || inspected.record.type !== "snapshot") continue;
    const { record } = inspected;
    // The name of a marker proves nothing.
    if (record.seq !== seq) continue;
    yield { ...record, address, manifest: decodeManifest(inspected.content) };
  }
}

/** The newest of them. */
export async function newestSnapshot(
  inspector: Inspector,
  signal?: AbortSignal,
): Promise<FoundSnapshot | undefined> {
  for await (const snapshot of findSnapshots(inspector, signal)) return snapshot;
  return undefined;
}

/**
 * Requires that the newest snapshot in the store is one that this catalog remembers.
 *
 * @throws LineageError
 */
export async function requireLineage(
  { catalog, catalogId }: ObjectsContext,
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<Before> {
  const seq = await catalog.highestSeq();
  const { isComplete, snapshot } = await catalog.lineage();
  if (!isComplete) {
    throw new LineageError(
      "the catalog is incomplete: a rebuild did not end, or could not read all of the store. Rebuild it again, or accept it as it is",
    );
  }
  const newest = await newestSnapshot(inspector, signal);
  if (newest !== undefined && newest.seq > (snapshot?.seq ?? -1)) throw notNewest();
  if (snapshot === undefined) {
    throw new LineageError("the catalog has stored no snapshot of itself yet: store one first");
  }
  return { catalogId, seq, snapshot };
}

export function notNewest(): LineageError {
  return new LineageError(
    "the store has a newer snapshot than this catalog remembers: the catalog is an old copy, or another store's. Rebuild it",
  );
}
