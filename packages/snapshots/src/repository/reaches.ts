import { type Address, StorageError, createStore } from "@idk/storage";
import { fetchBlob, openRoot } from "@idk/storage/blobs";
import { type Reach, REACH_CONTENT_MAX, decodeReach } from "../format/records/reach.ts";
import { type RecordReader, withRootBuffer } from "./records.ts";
import { RECORD_TYPES } from "../format/records/types.ts";

/** A reach as it is stored. */
export interface StoredReach extends Reach {
  readonly address: Address;
  /** The blobs that it consists of: its root, and the leaves and nodes if it is long. */
  readonly blobs: readonly Address[];
}

/** What one request tells of a reach: all of it, unless it has over a MiB, which is 32,768 packs. */
export interface ReachRoot {
  readonly address: Address;
  /** Of its content, in bytes. */
  readonly length: number;
  /** If the root has it. */
  readonly content: Uint8Array | undefined;
}

/**
 * Reads a reach: one request, more if it is long.
 *
 * @throws StorageError of the blob format; `tree` if it is another kind of content, or malformed
 */
export async function readReach(
  reader: RecordReader,
  address: Address,
  signal?: AbortSignal,
): Promise<StoredReach> {
  return wholeReach(reader, await readReachRoot(reader, address, signal), signal);
}

/** What one request tells of a reach. */
export async function readReachRoot(
  { backend, naCl, identities }: RecordReader,
  address: Address,
  signal: AbortSignal | undefined,
): Promise<ReachRoot> {
  const { content, contentLength, metadata } = await withRootBuffer(async (buffer) => {
    const root = openRoot(naCl, await fetchBlob(backend, address, buffer, { signal }), identities);
    return { ...root, content: root.content?.slice() };
  });
  if (metadata["type"] !== RECORD_TYPES.reach || metadata["enc"] !== undefined) {
    throw new StorageError("tree", `the blob ${address} is not a reach`);
  }
  if (contentLength > REACH_CONTENT_MAX) {
    throw new StorageError("tree", `the reach ${address} is longer than any`);
  }
  return { address, length: contentLength, content };
}

/** All of a reach: no request, unless it is long. */
export async function wholeReach(
  { backend, naCl, identities }: RecordReader,
  { address, content }: ReachRoot,
  signal: AbortSignal | undefined,
): Promise<StoredReach> {
  if (content !== undefined) return { ...decodeReach(content), address, blobs: [address] };
  const store = createStore({ backend, identities, nacl: naCl, workers: 0 });
  const blobs: Address[] = [];
  for await (const one of store.treeAddresses(address, { signal })) blobs.push(one);
  const stored = await store.get(address, { signal });
  const bytes = await stored.bytes({ maxBytes: REACH_CONTENT_MAX });
  return { ...decodeReach(bytes), address, blobs };
}
