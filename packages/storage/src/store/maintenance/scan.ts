import { decodeRoot } from "../../format/root.ts";
import type { ReadOptions } from "../options.ts";
import { type BlobStat, statOf } from "./stat.ts";
import { type ListedAddress, list } from "./list.ts";
import { throwIfAborted } from "../../abort.ts";
import { decodeHeader, inspectBlob, splitEnvelope } from "../../format/envelope.ts";
import { PREFIX_LENGTH, ROOT_BLOB_MAX, TAG_LENGTH } from "../../format/limits.ts";
import { type StoreContext, concurrencyOf, keyPairsOf } from "../context.ts";
import { type BufferPool, createBufferPool } from "../buffers.ts";
import { MANY_CONCURRENCY, inCompletionOrder } from "../items.ts";
import { StorageError } from "../../errors.ts";
import { type KeyPair, unwrapContentKey } from "../../crypto/wrap.ts";
import type { Address } from "../../content/address.ts";
import type { NaCl } from "../../crypto/nacl.ts";
import { fetchBlob } from "../read/fetch.ts";
import { openRoot } from "../../crypto/seal.ts";

export interface ScanOptions extends ReadOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
  /** Blobs looked at together, 1 to 64, by default 16. */
  readonly concurrency?: number | undefined;
}

/** One blob of a scan. */
export type ScannedBlob = ListedAddress &
  (
    | {
        /** A root that one of the identities opens. */
        readonly kind: "opened";
        /** Without what the store says of its encryption, which would be a request more. */
        readonly stat: BlobStat;
      }
    | {
        /** A root for others. */
        readonly kind: "closed";
        readonly recipients: number;
      }
    | {
        /** A chunk or node, or at least nothing that can be a root. */
        readonly kind: "child";
      }
    | {
        readonly kind: "failed";
        /** As `get` throws it: `not-found` where it was removed since it was listed. */
        readonly error: unknown;
      }
  );

/** What is fetched of a blob to see what it is: the whole header of a root of 80 recipients. */
const FRONT_LENGTH = 4096;

/** From this length on, a request more costs less than a blob that is fetched for nothing. */
const FRONT_WORTH = 64 * 1024;

/** What the identities open of all blobs; see `Store.scan`. */
export async function* scan(
  context: StoreContext,
  options: ScanOptions,
): AsyncGenerator<ScannedBlob> {
  const keyPairs = keyPairsOf(context.defaults, options);
  const concurrency = concurrencyOf({ concurrency: MANY_CONCURRENCY }, options.concurrency);
  const buffers = createBufferPool(concurrency + 1);
  const look = async (listed: ListedAddress, signal: AbortSignal): Promise<ScannedBlob> => {
    try {
      return { ...listed, ...(await lookAt(context, listed, keyPairs, buffers, signal)) };
    } catch (error) {
      throwIfAborted(signal);
      return { ...listed, kind: "failed", error };
    }
  };
  const { prefix, signal } = options;
  yield* inCompletionOrder(list(context.backend, { prefix, signal }), look, {
    concurrency,
    signal,
  });
}

type Found =
  | Pick<Extract<ScannedBlob, { kind: "opened" }>, "kind" | "stat">
  | Pick<Extract<ScannedBlob, { kind: "closed" }>, "kind" | "recipients">
  | { readonly kind: "child" };

async function lookAt(
  { backend, naCl }: StoreContext,
  { address, size }: ListedAddress,
  keyPairs: readonly KeyPair[],
  buffers: BufferPool,
  signal: AbortSignal,
): Promise<Found> {
  // No root is longer.
  if (size > ROOT_BLOB_MAX) return { kind: "child" };
  const buffer = buffers.acquire(ROOT_BLOB_MAX);
  let found: Found | undefined;
  if (size >= FRONT_WORTH && backend.getPrefix !== undefined) {
    const front = buffer.subarray(0, FRONT_LENGTH);
    const length = await backend.getPrefix(address, front, { signal });
    found = lookAtHeader(naCl, front.subarray(0, length), keyPairs);
  }
  if (found === undefined) {
    const blob = await fetchBlob(backend, address, buffer, signal);
    const { kind, header } = inspectBlob(address, blob);
    if (kind === "child") found = { kind };
    else found = openWith(naCl, address, blob, keyPairs) ?? closed(header.slots);
  }
  buffers.release(buffer);
  return found;
}

/** @returns undefined where it is a root that opens, or where the beginning does not tell */
function lookAtHeader(
  naCl: NaCl,
  front: Uint8Array,
  keyPairs: readonly KeyPair[],
): Found | undefined {
  if (front.length < PREFIX_LENGTH) return undefined;
  const end = PREFIX_LENGTH + ((front[4]! << 8) | front[5]!);
  try {
    // What is wrong with it, the whole blob tells in the order of a reader's checks.
    const header = decodeHeader(splitEnvelope(front.subarray(0, end + TAG_LENGTH)).header);
    if (header.ephemeral === undefined) return { kind: "child" };
    const { ephemeral, slots } = header;
    const contentKey = unwrapContentKey(naCl, ephemeral, slots, keyPairs);
    return contentKey === undefined ? closed(slots) : undefined;
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** @returns undefined where no key pair opens it */
function openWith(
  naCl: NaCl,
  address: Address,
  blob: Uint8Array,
  keyPairs: readonly KeyPair[],
): Found | undefined {
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

function closed(slots: readonly Uint8Array[]): Found {
  return { kind: "closed", recipients: slots.length };
}
