import { randomUUID } from "node:crypto";
import type { ObjectsContext } from "../context.ts";
import { encodeManifest } from "../identity/manifest.ts";
import { putRecord } from "../write/commit.ts";
import { encodeRows } from "./rows.ts";
import { listSnapshots, markerOf } from "./snapshot-markers.ts";
import { withLease } from "./lease.ts";
import { newestSnapshot, notNewest } from "./lineage.ts";
import { storeTime } from "./store-time.ts";
import type { Inspector } from "./inspect-root.ts";

/** Snapshots whose markers stay, so that a damaged one does not leave none. */
const MARKERS_KEPT = 3;

/**
 * Stores a sealed snapshot of the catalog: its rows as content, and a root with their address.
 *
 * @returns false if another process does so now
 * @throws LineageError if the store has a newer one, which this catalog does not remember
 */
export async function storeSnapshot(
  context: ObjectsContext,
  inspector: Inspector,
  signal?: AbortSignal,
): Promise<boolean> {
  return withLease(context, "snapshot", randomUUID(), async () => {
    await requireNewest(context, inspector, signal);
    const { backend, catalog, contents, memory, catalogId, writes } = context;
    // Its own number, so that no two snapshots have the same, and taken before the rows are read.
    const seq = await catalog.nextSeq();
    // A snapshot may take long, and no row names its chunks until it is recorded.
    const write = writes.begin(seq, false);
    try {
      const time = await storeTime(context);
      const need = 2 * memory.chunkSize;
      const share = await memory.large.acquire({ least: need, most: need }, signal);
      try {
        let size = 0;
        const counted = async function* (): AsyncGenerator<Uint8Array> {
          for await (const row of encodeRows(catalog.exportRows())) {
            size += row.length;
            yield row;
          }
        };
        const address = await contents.put(counted(), { concurrency: 1, signal });
        const manifest = encodeManifest({
          contents: [{ address, size, md5: "", part: 1 }],
          parts: [],
        });
        const record = { type: "snapshot", catalog: catalogId, seq, time } as const;
        const root = await putRecord(context, record, manifest, signal);
        // First: a marker newer than what the catalog remembers means that the catalog is an old copy.
        await catalog.recordSnapshot({ seq, time, name: root });
        await backend.putMarker?.(markerOf(seq, root), { signal });
      } finally {
        share.release();
      }
      for (const { name } of (await listSnapshots(backend, signal)).slice(MARKERS_KEPT)) {
        await backend.deleteMarker?.(name, { signal });
      }
    } finally {
      write.end(false);
    }
  });
}

/** An old copy of a catalog must not pass itself off as the newest state. */
async function requireNewest(
  { catalog }: ObjectsContext,
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<void> {
  const newest = await newestSnapshot(inspector, signal);
  if (newest === undefined) return;
  const { snapshot } = await catalog.lineage();
  if (newest.seq > (snapshot?.seq ?? -1)) throw notNewest();
}
