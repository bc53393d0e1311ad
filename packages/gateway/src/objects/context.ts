import type { Address, Backend, CallOptions, Store } from "@idk/storage";
import { inParallel, parallelRequests } from "@idk/storage/blobs";
import type { Catalog } from "../catalog/catalog.ts";
import type { MacKeys } from "./identity/mac.ts";
import type { Deletion } from "./identity/manifest.ts";
import type { Run } from "./lineage/run.ts";
import { isTransient } from "./maintenance/inspect-root.ts";
import type { Budget, Need, Share, Waiting } from "./memory/budget.ts";
import type { PassedBytes } from "./memory/garbage.ts";
import type { Writes } from "./write/writes.ts";

/** What every call of this room works with. */
export interface ObjectsContext {
  readonly backend: Backend;
  readonly catalog: Catalog;
  /** For identity roots, and with them inline content. */
  readonly roots: Store;
  /** For content roots; keeps small blobs that it has read, which are opened again for each range. */
  readonly contents: Store;
  readonly macKeys: MacKeys;
  readonly canRead: boolean;
  readonly memory: Memory;
  readonly run: Run;
  readonly writes: Writes;
  /** Seals that writes were refused whose roots may be in the store. Resolves once that is stored. */
  readonly voidWrites: (writes: readonly Deletion[]) => Promise<void>;
  /** Milliseconds since 1970, by the store's clock. */
  readonly now: () => number;
  /** The identity of the catalog, which never changes. */
  readonly catalogId: string;
  /** Asks for garbage to be collected soon. */
  readonly collectSoon: () => void;
  /** For things that concern the operator and no request. Never a secret. */
  readonly warn: (message: string, error?: unknown) => void;
}

/** The budgets, and what calls need of them. */
export interface Memory {
  /** Bytes of a chunk of content. */
  readonly chunkSize: number;
  /** For content up to 1 MiB, so that it never waits for long transfers. */
  readonly small: Budget;
  readonly large: Budget;
  /**
   * For content that is read to be sealed anew: a copy that waited to read while it holds memory to
   * write, and others likewise, would go on only as memory is taken back from them.
   */
  readonly copied: Budget;
  /** Of long content. */
  readonly passed: PassedBytes;
}

/** Content up to so many bytes is inline in its root. */
export const INLINE_MAX: number = 2 ** 20;

/** Chunks in flight of one call, if there is memory to spare. */
export const CHUNKS_AT_ONCE = 4;

/** What a put or get of inline content takes: the content, its blob, and what the backend copies. */
export function smallNeed(length: number): Need {
  const bytes = 3 * length + 64 * 1024;
  return { least: bytes, most: bytes };
}

/**
 * What a put or get of longer content takes: the chunks in flight, the one that is being filled or
 * read, and a mebibyte that is looked at before.
 */
export function largeNeed({ chunkSize }: Pick<Memory, "chunkSize">, length: number): Need {
  const chunks = Math.ceil(length / chunkSize);
  const bytes = (atOnce: number) => Math.min(atOnce + 1, chunks) * chunkSize + 2 * INLINE_MAX;
  return { least: bytes(1), most: bytes(CHUNKS_AT_ONCE) };
}

/** Bytes of a row: as it was read, encoded, sealed, and cloned for the thread that writes to the catalog. */
const ROW_BYTES = 1024;
/** Manifests of so few rows take no memory of the budget. Most are that short. */
const SHORT_ROWS = 64;

/**
 * Runs work with the memory that a manifest takes until it is in the catalog.
 *
 * @param rows its content roots and parts, as far as they are known
 * @param work is given the share, if it has one, for when more of them are known. It waits for no more memory
 * @throws the signal's reason, and what `work` throws
 */
export async function withManifest<T>(
  { memory }: Pick<ObjectsContext, "memory">,
  rows: number,
  waiting: Pick<Waiting, "signal" | "owner">,
  work: (share: Share | undefined) => Promise<T>,
): Promise<T> {
  if (rows <= SHORT_ROWS) return work(undefined);
  const share = await memory.large.acquire(manifestNeed(memory, rows), waiting);
  try {
    return await work(share);
  } finally {
    share.release();
  }
}

/**
 * What the rows of a manifest take. One that is longer than half of the budget counts as that: it would
 * otherwise wait until nothing else is in use, and all long content behind it. So two of these may take more
 * than the budget.
 */
export function manifestNeed({ large }: Pick<Memory, "large">, rows: number): Need {
  const bytes = Math.min(rows * ROW_BYTES, Math.floor(large.bytes / 2));
  return { least: bytes, most: bytes };
}

/** How many chunks may be in flight with so much memory. */
export function chunksAtOnce({ chunkSize }: Memory, bytes: number): number {
  const chunks = Math.floor((bytes - 2 * INLINE_MAX) / chunkSize);
  return Math.min(CHUNKS_AT_ONCE, Math.max(1, chunks - 1));
}

/** Deletions of one call, in flight or waiting for that. */
const DELETIONS_MAX = 64;

/**
 * Deletes blobs that nothing refers to, such as those of a write that failed. What cannot be deleted
 * now is left to a sweep: all that is left once the store is unavailable, or the signal fires.
 *
 * @returns whether all are deleted
 */
export async function discard(
  { backend }: Pick<ObjectsContext, "backend">,
  addresses: readonly Address[],
  signal?: AbortSignal,
): Promise<boolean> {
  // For each call, so that a client does not wait for what others delete.
  const requests = parallelRequests();
  let all = true;
  const remove = async (address: Address, isWanted: () => boolean): Promise<void> => {
    const request = async (given: CallOptions): Promise<void> => {
      if (isWanted()) await backend.delete(address, given);
    };
    try {
      await requests.one(request, { signal });
    } catch (error) {
      all = false;
      // Each of the others would be retried for as long.
      if (isTransient(error)) throw error;
    }
  };
  await inParallel(addresses, DELETIONS_MAX, remove).catch(() => {});
  return all;
}
