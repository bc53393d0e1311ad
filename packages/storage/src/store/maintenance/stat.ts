import type { Address } from "../../content/address.ts";
import type { Metadata } from "../../format/metadata.ts";
import type { ReadOptions } from "../options.ts";
import { decodedLength } from "../read/get.ts";
import type { StoreContext } from "../context.ts";
import { type OpenedRoot, readRoot } from "../read/read-root.ts";
import { storedChildren } from "../../format/tree.ts";

export interface BlobStat {
  readonly address: Address;
  /** Bytes of content, decoded. */
  readonly size: number;
  /**
   * Bytes of content as it is stored, encoded as the metadata's `enc` says; absent where it is not
   * encoded.
   */
  readonly encodedSize?: number | undefined;
  readonly metadata: Metadata;
  /** 0 where the content stands in the root, otherwise the levels of the tree: 1 to 3. */
  readonly depth: number;
  /** Bytes per chunk; 0 where the content stands in the root. */
  readonly chunkSize: number;
  /** Leaves of the tree. */
  readonly chunks: number;
  readonly recipients: number;
  /** Zero bytes that hide the length, in the stream of chunks. */
  readonly padding: number;
  /** Bytes of root, nodes and leaves in the store. */
  readonly storedBytes: number;
  /** How the store encrypts the root at rest, in the provider's words; absent where it is silent. */
  readonly encryption?: string | undefined;
}

/** Opens a root and says what it holds; see `Store.stat`. */
export async function stat(
  context: StoreContext,
  address: string,
  options: ReadOptions,
): Promise<BlobStat> {
  const root = await readRoot(context, address, options);
  const encryption = await encryptionOf(context, root.address, options);
  return { ...statOf(root), ...(encryption === undefined ? {} : { encryption }) };
}

/** What an opened root holds, without a look at the store. */
export function statOf(root: OpenedRoot): BlobStat {
  return {
    address: root.address,
    size: decodedLength(root),
    ...(root.metadata["enc"] === undefined ? {} : { encodedSize: root.contentLength }),
    metadata: root.metadata,
    depth: root.shape.counts.length,
    chunkSize: root.shape.chunkSize,
    chunks: root.shape.counts[0] ?? 0,
    recipients: root.recipients,
    padding: root.padding,
    storedBytes: root.storedBytes + storedChildren(root.shape).bytes,
  };
}

/** Backends that know nothing of themselves know nothing of this either, and are not asked. */
async function encryptionOf(
  { backend }: StoreContext,
  address: string,
  { signal }: ReadOptions,
): Promise<string | undefined> {
  if (backend.capabilities === undefined) return undefined;
  return (await backend.head(address, { signal }))?.encryption;
}
