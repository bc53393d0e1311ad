import { type BlobStat, statOf } from "./stat.ts";
import { type KeyPair, unwrapContentKey } from "../../crypto/wrap-key.ts";
import { type ListedAddress, list } from "./list.ts";
import { inCompletionOrder } from "../items.ts";
import { PREAMBLE_LENGTH, ROOT_BLOB_MAX, TAG_LENGTH } from "../../format/limits.ts";
import { checkConcurrency, checkIdentities } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { decodeHeader, inspectBlob, splitEnvelope } from "../../format/envelope.ts";
import type { Backend } from "../../backend/backend.ts";
import type { Address } from "../../crypto/address.ts";
import type { NaCl } from "../../crypto/nacl/nacl.ts";
import type { ReadOptions } from "../options.ts";
import { StorageError, isTooLong } from "../../errors.ts";
import { createBufferPool } from "../buffers.ts";
import { decodeRoot } from "../../format/root.ts";
import pLimit from "p-limit";
import { fetchBlob } from "../read/fetch.ts";
import { openRoot } from "../../crypto/seal.ts";
import { throwIfAborted } from "../../abort.ts";

/** Options of `scan`. */
export interface ScanOptions extends ReadOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
  /**
   * The most blobs in flight at once, 1 to 64, by default 64; at first, there are 24. At most 16 of them
   * are 64 KiB or longer.
   */
  readonly concurrency?: number | undefined;
}

/** One blob of a scan. */
export type ScannedBlob = ListedAddress &
  (
    | {
        /** A root that one of the identities opens. */
        readonly kind: "opened";
        /** Without `encryption`, which would take another request. */
        readonly stat: BlobStat;
      }
    | {
        /** A root for other recipients. */
        readonly kind: "closed";
        readonly recipients: number;
      }
    | {
        /** A chunk or node, or anything too long to be a root. */
        readonly kind: "child";
      }
    | {
        readonly kind: "failed";
        /** As `get` throws it; `not-found` if the blob was deleted after it was listed. */
        readonly error: unknown;
      }
  );

/** Bytes of the prefix that is read first: enough for the header of a root with 80 recipients. */
const HEADER_READ = 4096;

/** From this length on, an extra request costs less than downloading a blob for nothing. */
const HEADER_FIRST_MIN = 64 * 1024;

/** Blobs from `HEADER_FIRST_MIN` on in flight, because each may take 2 MiB of memory. */
const LARGE_CONCURRENCY = 16;

/** Lists blobs with what the identities can open of them; see `Store.scan`. */
export async function* scan(
  context: StoreContext,
  options: ScanOptions,
): AsyncGenerator<ScannedBlob> {
  const { naCl } = context;
  const { prefix, signal } = options;
  const keyPairs = checkIdentities(context.defaults, options);
  const concurrency = checkConcurrency(options.concurrency);
  const flow = context.flows.readRoots;
  const buffers = createBufferPool(() => (concurrency ?? flow.width()) + 1);
  const queueLarge = pLimit(LARGE_CONCURRENCY);

  const identify = async (
    { address, size }: ListedAddress,
    signal: AbortSignal,
    backend: Backend,
  ): Promise<Identified> => {
    throwIfAborted(signal);
    if (size > ROOT_BLOB_MAX) return { kind: "child" };
    // Many are in flight, and memory that is not used counts for the garbage collector, too.
    let buffer = buffers.acquire(size < HEADER_FIRST_MIN ? HEADER_FIRST_MIN : ROOT_BLOB_MAX);
    let identified: Identified | undefined;
    if (size >= HEADER_FIRST_MIN && backend.getRange !== undefined) {
      const start = buffer.subarray(0, HEADER_READ);
      const length = await backend.getRange(address, 0, start, { signal });
      identified = identifyByHeader(naCl, start.subarray(0, length), keyPairs);
    }
    if (identified === undefined) {
      const blob = await fetchBlob(backend, address, buffer, signal).catch((error: unknown) => {
        // Longer than listed.
        if (!isTooLong(error) || buffer.length >= ROOT_BLOB_MAX) throw error;
        buffer = buffers.acquire(ROOT_BLOB_MAX);
        return fetchBlob(backend, address, buffer, signal);
      });
      const { kind, header } = inspectBlob(address, blob);
      if (kind === "child") identified = { kind };
      else identified = openWith(naCl, address, blob, keyPairs) ?? closed(header.slots);
    }
    buffers.release(buffer);
    return identified;
  };
  const scanOne = async (
    listed: ListedAddress,
    signal: AbortSignal,
    backend: Backend,
  ): Promise<ScannedBlob> => {
    try {
      const large = listed.size >= HEADER_FIRST_MIN;
      const identified = large
        ? queueLarge(() => identify(listed, signal, backend))
        : identify(listed, signal, backend);
      return { ...listed, ...(await identified) };
    } catch (error) {
      throwIfAborted(signal);
      return { ...listed, kind: "failed", error };
    }
  };
  yield* inCompletionOrder(list(context.backend, { prefix, signal }), scanOne, {
    flow,
    concurrency,
    signal,
  });
}

type Identified =
  | Pick<Extract<ScannedBlob, { kind: "opened" }>, "kind" | "stat">
  | Pick<Extract<ScannedBlob, { kind: "closed" }>, "kind" | "recipients">
  | { readonly kind: "child" };

/** @returns undefined for a root that opens, and if the bytes do not contain a valid header */
function identifyByHeader(
  naCl: NaCl,
  start: Uint8Array,
  keyPairs: readonly KeyPair[],
): Identified | undefined {
  if (start.length < PREAMBLE_LENGTH) return undefined;
  const end = PREAMBLE_LENGTH + ((start[4]! << 8) | start[5]!);
  try {
    const header = decodeHeader(splitEnvelope(start.subarray(0, end + TAG_LENGTH)).header);
    if (header.ephemeral === undefined) return { kind: "child" };
    const { ephemeral, slots } = header;
    const contentKey = unwrapContentKey(naCl, ephemeral, slots, keyPairs);
    return contentKey === undefined ? closed(slots) : undefined;
  } catch (error) {
    // The whole blob is fetched next, and its faults are reported in the order of a reader's checks.
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** @returns undefined if no key pair opens it */
function openWith(
  naCl: NaCl,
  address: Address,
  blob: Uint8Array,
  keyPairs: readonly KeyPair[],
): Identified | undefined {
  const storedBytes = blob.length;
  try {
    const { plaintext, recipients } = openRoot(naCl, blob, keyPairs);
    const root = { ...decodeRoot(plaintext), address, recipients, storedBytes };
    return { kind: "opened", stat: statOf(root) };
  } catch (error) {
    if (error instanceof StorageError && error.code === "no-match") return undefined;
    throw error;
  }
}

function closed(slots: readonly Uint8Array[]): Identified {
  return { kind: "closed", recipients: slots.length };
}
