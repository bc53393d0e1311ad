import { type Address, type Backend, createStore } from "@idk/storage";
import type { RecorderOptions } from "../options.ts";
import { encodeSegmentMetadata, type SegmentMetadata } from "./metadata.ts";

/**
 * Seals lines and their metadata for those who may read them now, with a store that has no identity.
 *
 * @returns the address of the root
 * @throws StorageError as `Store.put`; what the caller's function for recipients throws
 */
export type SealSegment = (
  backend: Backend,
  lines: Uint8Array,
  metadata: SegmentMetadata,
) => Promise<Address>;

export function createSealer({
  compression = "none",
  nacl,
  recipients,
}: Pick<RecorderOptions, "compression" | "nacl" | "recipients">): SealSegment {
  return async (backend, lines, metadata) => {
    const readers = typeof recipients === "function" ? recipients(new Date()) : recipients;
    const store = createStore({ backend, recipients: readers, compression, nacl, workers: 0 });
    return store.put(lines, { metadata: encodeSegmentMetadata(metadata) });
  };
}
