import { type BlobQueue, type SizedBlob, blobQueue } from "../address-set.ts";
import { type Marker, formatMarker } from "../../format/names/marker.ts";
import type { Address, CallOptions, ListedBlob } from "@idk/storage";
import type { BlobShard } from "../shard.ts";
import type { MarkerBackend } from "../../repository/marker-backend.ts";
import type { Protection } from "./protection.ts";
import type { Repository } from "../../repository/repository.ts";
import { type Parallel, fromHex } from "@idk/storage/blobs";
import { mayBeHead } from "../unmarked-heads.ts";

/** Blobs, and the bytes that they have as stored. */
export interface Amount {
  readonly blobs: number;
  readonly bytes: number;
}

/** What becomes free on one day. */
export interface FreeLater extends Amount {
  /** The beginning of the day in UTC, in milliseconds since 1970. Some of it may be free a little later. */
  readonly at: number;
}

/** What goes, and what stays. */
export interface DeletionPlan {
  readonly blobs: BlobQueue;
  readonly bytes: number;
  /** Those of them that no head is known to need or to have needed, and that may be heads themselves. */
  readonly unknown: BlobQueue;
  readonly kept: Amount;
  readonly later: readonly FreeLater[];
  /** Blobs that are protected for good and not listed. */
  readonly missing: number;
}

/** What decides whether a blob goes. Times are the store's, in milliseconds. */
export interface DeletionRules {
  /** When the prune began. */
  readonly start: number;
  readonly grace: number;
  /** The longest first; of what is dead, too, so that it is known what that consisted of. */
  readonly protections: readonly Protection[];
  /** More blobs to keep. */
  readonly kept: ReadonlySet<Address>;
  /** What is listed. */
  readonly shard: BlobShard;
  readonly signal?: AbortSignal | undefined;
  readonly onBlob?: ((done: number) => void) | undefined;
}

const DAY = 24 * 60 * 60 * 1000;

/** Lists the blobs, and decides which of them go: those that nothing protects and that are old enough. */
export async function planDeletion(
  { backend }: Repository,
  { start, grace, protections, kept, shard, signal, onBlob }: DeletionRules,
): Promise<DeletionPlan> {
  const [blobs, unknown] = [blobQueue(), blobQueue()];
  const days = new Map<number, { blobs: number; bytes: number }>();
  const left = { blobs: 0, bytes: 0 };
  let [bytes, done, found] = [0, 0, 0];
  for await (const { name, size, storedAt = Infinity } of listed(backend, shard, signal)) {
    done += 1;
    onBlob?.(done);
    const address = fromHex(name);
    const protection = protections.find((one) => one.blobs.has(address));
    if (protection?.until === Infinity) found += 1;
    const until = kept.has(name as Address) ? Infinity : (protection?.until ?? -Infinity);
    const freeAt = Math.max(until, storedAt + grace);
    if (freeAt <= start) {
      blobs.push(address, size);
      bytes += size;
      if (protection === undefined && mayBeHead(size)) unknown.push(address, size);
      continue;
    }
    left.blobs += 1;
    left.bytes += size;
    if (freeAt === Infinity) continue;
    const at = Math.floor(freeAt / DAY) * DAY;
    const day = days.get(at) ?? { blobs: 0, bytes: 0 };
    days.set(at, { blobs: day.blobs + 1, bytes: day.bytes + size });
  }
  const forGood = protections.find(({ until }) => until === Infinity);
  const later = [...days.entries()].map(([at, day]) => ({
    at,
    blobs: day.blobs,
    bytes: day.bytes,
  }));
  return {
    blobs,
    bytes,
    unknown,
    kept: left,
    later: later.toSorted((a, b) => a.at - b.at),
    missing: (forGood?.blobs.count(shard) ?? 0) - found,
  };
}

async function* listed(
  backend: MarkerBackend,
  { prefixes }: BlobShard,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedBlob> {
  for (const prefix of prefixes) yield* backend.list(prefix, { signal });
}

/** Options of `deleteAll`. */
export interface DeleteOptions {
  readonly requests: Parallel<CallOptions, unknown>;
  readonly signal?: AbortSignal | undefined;
  readonly onDeleted?: ((done: number, total: number) => void) | undefined;
}

/**
 * Deletes markers, one part after the other, and then blobs: without its marker a head is not there, so
 * wherever this ends, nothing that is there lacks anything.
 */
export async function deleteAll(
  backend: MarkerBackend,
  markers: readonly (readonly Marker[])[],
  blobs: BlobQueue,
  { requests, signal, onDeleted }: DeleteOptions,
): Promise<void> {
  const total = markers.reduce((sum, { length }) => sum + length, blobs.length);
  let done = 0;
  const count = () => {
    done += 1;
    onDeleted?.(done, total);
  };
  for (const part of markers) {
    const deleteMarker = async (marker: Marker, given: CallOptions) => {
      await backend.deleteMarker(formatMarker(marker), given);
      count();
    };
    await requests.each(part, deleteMarker, { signal });
  }
  const deleteBlob = async ({ address }: SizedBlob, given: CallOptions) => {
    await backend.delete(address, given);
    count();
  };
  await requests.each(blobs, deleteBlob, { signal });
}
