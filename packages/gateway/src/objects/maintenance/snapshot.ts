import { randomUUID } from "node:crypto";
import type { Address } from "@idk/storage";
import { discard, type ObjectsContext } from "../context.ts";
import { encodeManifest } from "../identity/manifest.ts";
import { LineageError } from "../lineage/run.ts";
import { requireMarkers, storeTime } from "../lineage/store-time.ts";
import { putRecord } from "../write/commit.ts";
import { journalOf } from "../write/store-content.ts";
import type { Inspector } from "./inspect-root.ts";
import { withLease } from "./lease.ts";
import { findSnapshots, requireNewest } from "./lineage.ts";
import { encodeRows } from "./rows.ts";
import { listSnapshots, markerOf } from "./snapshot-markers.ts";

/** Snapshots whose markers stay, so that a damaged one does not leave none. */
const MARKERS_KEPT = 3;

/**
 * Stores a sealed snapshot of the catalog: its rows as content, and a root with their address.
 *
 * @returns false if another process does so now
 * @throws LineageError if the catalog is not that of the store
 */
export async function storeSnapshot(
  context: ObjectsContext,
  inspector: Inspector,
  signal?: AbortSignal,
): Promise<boolean> {
  return withLease(context, "snapshot", randomUUID(), async (isHeld) => {
    const { backend, catalog, catalogId, now, run, writes } = context;
    const marked = requireMarkers(backend);
    await requireNewest(context, inspector, signal);
    await run.ready();
    const time = await storeTime(marked, signal);
    // Its own number, so that no two snapshots have the same, and taken before the rows are read.
    const begun = await catalog.beginSnapshot(now());
    const { seq } = begun;
    // A snapshot may take long, and no row names its chunks until it is recorded.
    const write = writes.adopt(seq);
    try {
      const { address, size } = await storeRows(context, signal);
      const manifest = encodeManifest({
        contents: [{ address, size, md5: "", part: 1 }],
        parts: [],
        writes: begun.writes,
        began: begun.began,
      });
      const record = { type: "snapshot", catalog: catalogId, seq, time } as const;
      const root = await putRecord(context, record, manifest, signal);
      if (!isHeld() || !write.isAlive()) throw new LineageError("another process took over");
      // First: a marker newer than what the catalog remembers means that the catalog is an old copy.
      await catalog.recordSnapshot({ seq, time, name: root });
      await marked.putMarker(markerOf(seq, root), { signal });
    } finally {
      await write.end();
    }
    await forgetOld(context, inspector, signal);
  });
}

/**
 * Stores all rows of the catalog as content, in memory for two chunks.
 *
 * @returns the content root, and how many bytes the rows have
 * @throws what the store throws, after the chunks that it has stored were deleted, as far as the store and the
 *   signal allow
 */
async function storeRows(
  { backend, catalog, contents, memory }: ObjectsContext,
  signal: AbortSignal | undefined,
): Promise<{ address: Address; size: number }> {
  const need = 2 * memory.chunkSize;
  const share = await memory.large.acquire({ least: need, most: need }, { signal });
  const stored: Address[] = [];
  let size = 0;
  async function* rows(): AsyncGenerator<Uint8Array> {
    for await (const row of encodeRows(catalog.exportRows())) {
      size += row.length;
      yield row;
    }
  }
  try {
    const journal = journalOf(stored);
    const address = await contents.put(rows(), { journal, concurrency: 1, signal });
    return { address, size };
  } catch (error) {
    share.release();
    // A stop does not wait for deletions: a sweep finds the chunks.
    await discard({ backend }, stored, signal);
    throw error;
  } finally {
    share.release();
  }
}

/** Deletes the markers of all but the newest snapshots that are authentic. Those of others stay. */
async function forgetOld(
  { backend }: ObjectsContext,
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<void> {
  const markers = await listSnapshots(backend, signal);
  if (markers.length <= MARKERS_KEPT) return;
  let kept = 0;
  for await (const { seq, address } of findSnapshots(inspector, signal)) {
    kept += 1;
    if (kept > MARKERS_KEPT) await backend.deleteMarker?.(markerOf(seq, address), { signal });
  }
}
