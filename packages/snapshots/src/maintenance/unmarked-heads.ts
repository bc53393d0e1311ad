import { type Address, StorageError } from "@idk/storage";
import type { SizedBlob } from "./address-set.ts";
import { CHILD_OVERHEAD, ROOT_BLOB_MAX, fetchBlob, openRoot } from "@idk/storage/blobs";
import { METADATA_PACK } from "../format/limits.ts";
import { RECORD_TYPES } from "../format/records/types.ts";
import { type StoredHead, verifiedHead } from "../rules/counting.ts";
import { decodeHead } from "../format/records/head.ts";
import type { MarkerBackend } from "../repository/marker-backend.ts";
import type { Repository } from "../repository/repository.ts";
import { inParallel } from "./in-parallel.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";
import { withRootBuffer } from "../repository/records.ts";

/** The bytes before the header of a blob, the last two of which are the header's length. */
const PREAMBLE = 6;
const HEADER_LENGTH_AT = 4;
const TAG = 16;
/** The length of the header of a leaf or node, which is always the same and shorter than a root's. */
const CHILD_HEADER = CHILD_OVERHEAD - PREAMBLE - TAG;
/** Below this length a blob is fetched at once, because a second request takes longer. */
const PROBED_MIN = 64 * 1024;

/** Whether a blob may be a head by its length. Packs that are filled up are not, nor is what is longer. */
export function mayBeHead(size: number): boolean {
  return size <= ROOT_BLOB_MAX && size !== METADATA_PACK + CHILD_OVERHEAD;
}

/**
 * Does the work for each blob and the head that it is (`headIn`), a quarter as many at once of those that
 * are fetched whole and may have a MiB.
 *
 * @param concurrency requests in flight at once
 */
export async function forEachHead(
  repository: Repository,
  blobs: Iterable<SizedBlob>,
  concurrency: number,
  work: (stored: StoredHead | undefined) => void,
  signal?: AbortSignal,
): Promise<void> {
  const few = Math.max(1, Math.floor(concurrency / 4));
  const chosen = function* chosen(isLong: boolean): Generator<SizedBlob> {
    for (const blob of blobs) if (blob.size >= PROBED_MIN === isLong) yield blob;
  };
  const look = async (blob: SizedBlob) => work(await headIn(repository, blob, signal));
  await inParallel(chosen(false), concurrency, look);
  await inParallel(chosen(true), few, look);
}

/**
 * The head that a blob is, verified but for the settings; undefined if it is anything else, gone, or its
 * bytes are damaged. A request or two.
 *
 * @throws StorageError also if the server has the blob and cannot return it now: it may be a head
 */
async function headIn(
  { backend, naCl, identities, pinned }: Repository,
  { address, size }: SizedBlob,
  signal?: AbortSignal,
): Promise<StoredHead | undefined> {
  if (size >= PROBED_MIN && (await isNoRoot(backend, address, signal))) return undefined;
  try {
    const content = await withRootBuffer(async (buffer) => {
      const root = openRoot(
        naCl,
        await fetchBlob(backend, address, buffer, { signal }),
        identities,
      );
      const { type, enc } = root.metadata;
      return type === RECORD_TYPES.head && enc === undefined ? root.content?.slice() : undefined;
    });
    if (content === undefined) return undefined;
    const { chain, generation } = decodeHead(content).head;
    return verifiedHead(content, { chain, generation, address }, pinned);
  } catch (error) {
    if (isFaultOfOne(error)) return undefined;
    throw error;
  }
}

/** Whether a blob is gone, or a leaf or node by its first bytes. */
async function isNoRoot(
  backend: MarkerBackend,
  address: Address,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (backend.getRange === undefined) return false;
  const start = new Uint8Array(PREAMBLE);
  let length: number;
  try {
    length = await backend.getRange(address, 0, start, { signal });
  } catch (error) {
    // Whatever the backend reports, it has not compared the bytes with the address.
    if (error instanceof StorageError && error.code === "not-found") return true;
    throw error;
  }
  return (
    length < PREAMBLE || new DataView(start.buffer).getUint16(HEADER_LENGTH_AT) === CHILD_HEADER
  );
}
