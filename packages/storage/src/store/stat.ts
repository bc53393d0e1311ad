import type { BlobStat } from "./reports.ts";
import type { ReadOptions } from "./options.ts";
import { decodedLength } from "./get.ts";
import type { StoreContext } from "./context.ts";
import { type OpenedRoot, readRoot } from "./read-root.ts";
import { storedChildren } from "../format/shape.ts";

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
