import { type Address, parseAddress } from "../../crypto/address.ts";
import type { Metadata } from "../../format/metadata.ts";
import { bothOf } from "../flow/parallel.ts";
import type { ReadOptions } from "../options.ts";
import type { StoreContext } from "../context.ts";
import { type OpenedRoot, decodedLength, readRoot } from "../read/read-root.ts";
import { storedChildren } from "../../format/tree.ts";

/** The properties of stored content, from its root alone. */
export interface BlobStat {
  readonly address: Address;
  /** Bytes of content after decompression. */
  readonly size: number;
  /** Bytes of content as stored; absent if the content is not compressed. */
  readonly encodedSize?: number | undefined;
  readonly metadata: Metadata;
  /** Levels of the tree, 1 to 3; 0 if the content is inline in the root. */
  readonly depth: number;
  /** Bytes per chunk; 0 if the content is inline in the root. */
  readonly chunkSize: number;
  /** Leaves of the tree. */
  readonly chunks: number;
  readonly recipients: number;
  /** Zero bytes after the content that hide its length; a root's own padding is not counted. */
  readonly padding: number;
  /** Bytes of root, nodes and leaves as stored. */
  readonly storedBytes: number;
  /** Encryption of the root at rest, in the provider's own terms; absent if not reported. */
  readonly encryption?: string | undefined;
}

/** Opens a root and returns its properties; see `Store.stat`. */
export async function stat(
  context: StoreContext,
  address: string,
  options: ReadOptions,
): Promise<BlobStat> {
  const parsed = parseAddress(address);
  const [root, encryption] = await bothOf(
    readRoot(context, parsed, options),
    encryptionOf(context, parsed, options),
  );
  return { ...statOf(root), ...(encryption === undefined ? {} : { encryption }) };
}

/** The properties of an opened root; makes no request. */
export function statOf(root: OpenedRoot): BlobStat {
  return {
    address: root.address,
    size: decodedLength(root),
    ...(root.metadata["enc"] === undefined ? {} : { encodedSize: root.contentLength }),
    metadata: root.metadata,
    depth: root.shape.depth,
    chunkSize: root.shape.chunkSize,
    chunks: root.shape.counts[0] ?? 0,
    recipients: root.recipients,
    padding: root.padding,
    storedBytes: root.storedBytes + storedChildren(root.shape).bytes,
  };
}

/** Backends without capabilities cannot report encryption either, so they get no request. */
async function encryptionOf(
  { backend }: StoreContext,
  address: Address,
  { signal }: ReadOptions,
): Promise<string | undefined> {
  if (backend.capabilities === undefined) return undefined;
  return (await backend.head(address, { signal }))?.encryption;
}
