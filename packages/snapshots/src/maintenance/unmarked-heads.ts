import { type Address, type Backend, StorageError } from "@idk/storage";
import type { SizedBlob } from "./address-set.ts";
import {
  CHILD_OVERHEAD,
  type Parallel,
  ROOT_BLOB_MAX,
  type SizedItem,
  fetchBlob,
  openRoot,
} from "@idk/storage/blobs";
import { METADATA_PACK } from "../format/limits.ts";
import { RECORD_TYPES } from "../format/records/types.ts";
import { type StoredHead, verifiedHead } from "../rules/counting.ts";
import { decodeHead } from "../format/records/head.ts";
import type { Repository } from "../repository/repository.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";
import { withRootBuffer } from "../repository/records.ts";

/** The bytes before the header of a blob, the last two of which are the header's length. */
const PREAMBLE = 6;
const HEADER_LENGTH_AT = 4;
const TAG = 16;
/** The length of the header of a leaf or node, which is always the same and shorter than a root's. */
const CHILD_HEADER = CHILD_OVERHEAD - PREAMBLE - TAG;
/** Up to this length a blob is fetched at once, because a second request takes longer. */
const SHORT_BLOB = 64 * 1024;

/** Whether a blob may be a head by its length. Packs that are filled up are not, nor is what is longer. */
export function mayBeHead(size: number): boolean {
  return size <= ROOT_BLOB_MAX && size !== METADATA_PACK + CHILD_OVERHEAD;
}

/**
 * Does the work for each blob and the head that it is (`headIn`).
 *
 * @param fetching of the repository's backend
 */
export async function forEachHead(
  repository: Repository,
  blobs: Iterable<SizedBlob>,
  fetching: Parallel<Backend, SizedItem>,
  work: (stored: StoredHead | undefined) => void,
  signal?: AbortSignal,
): Promise<void> {
  const look = async ({ address }: SizedBlob, backend: Backend, size: number | undefined) =>
    work(await headIn({ ...repository, backend }, address, size, signal));
  await fetching.each(blobs, look, { signal });
}

/**
 * The head that a blob is, verified but for the settings; undefined if it is anything else, gone, or its
 * bytes are damaged. A request or two.
 *
 * @param size of the blob; undefined if it is not known
 * @throws StorageError `limit` if the blob is longer than `size`; also if the server has the blob and
 *   cannot return it now: it may be a head
 */
async function headIn(
  {
    backend,
    naCl,
    identities,
    pinned,
  }: Omit<Repository, "backend"> & { readonly backend: Backend },
  address: Address,
  size: number | undefined,
  signal?: AbortSignal,
): Promise<StoredHead | undefined> {
  const isShort = size !== undefined && size <= SHORT_BLOB;
  if (!isShort && (await isNoRoot(backend, address, signal))) return undefined;
  try {
    const read = async (buffer: Uint8Array<ArrayBuffer>) => {
      const root = openRoot(
        naCl,
        await fetchBlob(backend, address, buffer, { signal }),
        identities,
      );
      const { type, enc } = root.metadata;
      return type === RECORD_TYPES.head && enc === undefined ? root.content?.slice() : undefined;
    };
    const content = await (isShort ? read(new Uint8Array(size)) : withRootBuffer(read));
    if (content === undefined) return undefined;
    const { chain, generation } = decodeHead(content).head;
    return verifiedHead(content, { chain, generation, address }, pinned);
  } catch (error) {
    if (isFaultOfOne(error) && !(isShort && error.code === "limit")) return undefined;
    throw error;
  }
}

/** Whether a blob is gone, or a leaf or node by its first bytes. */
async function isNoRoot(
  backend: Backend,
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
