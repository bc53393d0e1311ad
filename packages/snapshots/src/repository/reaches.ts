import { type Address, StorageError, createStore } from "@idk/storage";
import { fetchBlob, openRoot } from "@idk/storage/blobs";
import { type Reach, REACH_CONTENT_MAX, decodeReach } from "../format/records/reach.ts";
import { RECORD_TYPES } from "../format/records/types.ts";
import { type RecordReader, withRootBuffer } from "./records.ts";

/** A reach as it is stored. */
export interface StoredReach extends Reach {
  readonly address: Address;
  /** The blobs that it consists of: its root, and the leaves and nodes if it is long. */
  readonly blobs: readonly Address[];
}

/**
 * Reads a reach: one request, more if it has over a MiB, which is 32,768 packs.
 *
 * @throws StorageError of the blob format; `tree` if it is another kind of content, or malformed
 */
export async function readReach(
  { backend, naCl, identities }: RecordReader,
  address: Address,
  signal?: AbortSignal,
): Promise<StoredReach> {
  const { content, contentLength, metadata } = await withRootBuffer(async (buffer) => {
    const root = openRoot(naCl, await fetchBlob(backend, address, buffer, { signal }), identities);
    return { ...root, content: root.content?.slice() };
  });
  if (metadata["type"] !== RECORD_TYPES.reach || metadata["enc"] !== undefined) {
    throw new StorageError("tree", `the blob ${address} is not a reach`);
  }
  if (content !== undefined) return { ...decodeReach(content), address, blobs: [address] };
  if (contentLength > REACH_CONTENT_MAX) {
    throw new StorageError("tree", `the reach ${address} is longer than any`);
  }
  const store = createStore({ backend, identities, nacl: naCl, workers: 0 });
  const blobs: Address[] = [];
  for await (const one of store.treeAddresses(address, { signal })) blobs.push(one);
  const stored = await store.get(address, { signal });
  const bytes = await stored.bytes({ maxBytes: REACH_CONTENT_MAX });
  return { ...decodeReach(bytes), address, blobs };
}
