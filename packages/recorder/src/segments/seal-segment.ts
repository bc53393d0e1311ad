import { type Address, type Backend, createStore, StorageError } from "@idk/storage";
import type { RecorderOptions } from "../options.ts";
import { encodeSegmentMetadata, type SegmentMetadata } from "./metadata.ts";

/**
 * Seals lines and their metadata for those who may read them now, with a store that has no identity.
 * Calls are queued.
 *
 * @param put stores a blob
 * @returns the address of the root
 * @throws StorageError as `Store.put`; what the caller's function for recipients throws
 */
export type SealSegment = (
  put: Backend["put"],
  lines: Uint8Array,
  metadata: SegmentMetadata,
) => Promise<Address>;

export function createSealer({
  compression = "none",
  nacl,
  recipients,
}: Pick<RecorderOptions, "compression" | "nacl" | "recipients">): SealSegment {
  let current: Backend["put"] | undefined;
  // One store for all segments, so that its buffers are reused: the first use of fresh memory takes
  // about as long as sealing. One chunk in flight, so that it keeps two buffers of a chunk at most.
  const store = createStore({
    backend: onlyPuts((...given) => current!(...given)),
    compression,
    concurrency: 1,
    nacl,
    workers: 0,
  });
  let tail: Promise<unknown> = Promise.resolve();

  return (put, lines, metadata) => {
    const seal = async (): Promise<Address> => {
      const readers = typeof recipients === "function" ? recipients(new Date()) : recipients;
      current = put;
      return store.put(lines, { recipients: readers, metadata: encodeSegmentMetadata(metadata) });
    };
    const sealed = tail.then(seal);
    tail = sealed.catch(() => {});
    return sealed;
  };
}

/** A store that writes without deduplication does nothing else. */
function onlyPuts(put: Backend["put"]): Backend {
  const refuse = async (): Promise<never> => {
    throw new StorageError("usage", "a spool can only be written");
  };
  return {
    description: "the spool",
    local: true,
    put,
    get: refuse,
    head: refuse,
    delete: refuse,
    // eslint-disable-next-line require-yield -- it has none to yield
    async *list() {
      await refuse();
    },
  };
}
