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
    const { backend, catalog, memory, catalogId, now, run, writes } = context;
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
      const need = 2 * memory.chunkSize;
      const share = await memory.large.acquire({ least: need, most: need }, { signal });
      try {
        let size = 0;
        const counted = async function* (): AsyncGenerator<Uint8Array> {
          for await (const row of encodeRows(catalog.exportRows())) {
            size += row.length;
            yield row;
          }
        };
        const address = await storeRows(context, counted(), signal);
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
        share.release();
      }
    } finally {
      await write.end();
    }
    await forgetOld(context, inspector, signal);
  });
}

/** @throws what the store throws, after the chunks that it has stored were deleted, if there is time for that */
async function storeRows(
  context: ObjectsContext,
  rows: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<Address> {
  const stored: Address[] = [];
  try {
    return await context.contents.put(rows, {
      journal: journalOf(stored),
      concurrency: 1,
      signal,
    });
  } catch (error) {
    // Whoever stops it does not wait for deletions: a sweep finds the chunks.
    if (signal?.aborted !== true) await discard(context, stored);
    throw error;
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
