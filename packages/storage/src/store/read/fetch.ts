import type { Backend, ReadCallOptions } from "../../backend/backend.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import type { ChildKind } from "../../crypto/key-schedule.ts";
import type { Reference } from "../../format/tree.ts";
import { StorageError, isTooLong } from "../../errors.ts";
import type { StoreContext } from "../context.ts";
import { allocate } from "../buffers.ts";
import { addressOf, arrivingAddress } from "../../crypto/address.ts";
import { openChild } from "../../crypto/seal.ts";
import { inTurn } from "../../queue.ts";
import { throwIfAborted } from "../../abort.ts";
import pLimit from "p-limit";

/**
 * How many downloads of a blob must be wrong before it counts as damaged, because one may have been
 * truncated or altered in transit. A local blob is read once.
 */
const DOWNLOADS = 2;

/**
 * Reads a blob into a buffer and checks it against its name.
 *
 * @returns the blob, a view of the buffer
 * @throws StorageError `limit`; `address`, `transient` if the bytes were not seen because the backend
 *   reports them as damaged; and what the backend throws
 */
export async function fetchBlob(
  backend: Backend,
  address: string,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  return downloadVerified(backend, address, async () => {
    const length = await backend.get(address, buffer, { signal }).catch(failReported);
    const blob = buffer.subarray(0, length);
    return addressOf(blob) === address ? blob : undefined;
  });
}

/**
 * As `fetchBlob`, for a blob that is going to be opened: hashes it while it arrives, and so relies on the
 * backend not to change what it said is there. If one did by mistake, the blob would not open; only bytes
 * that were sealed with its key would.
 */
async function fetchToOpen(
  backend: Backend,
  address: string,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  return downloadVerified(backend, address, async () => {
    const arriving = arrivingAddress(buffer);
    const onReceived = arriving.received;
    const length = await backend.get(address, buffer, { signal, onReceived }).catch(failReported);
    return arriving.of(length) === address ? buffer.subarray(0, length) : undefined;
  });
}

/**
 * Throws the error of a backend's get, which is transient if the backend reports damage: only who has seen
 * the bytes knows for good that they are wrong, and a backend compares none.
 */
export function failReported(error: unknown): never {
  if (!(error instanceof StorageError) || error.code !== "address" || error.transient) throw error;
  throw new StorageError("address", error.message, { cause: error, transient: true });
}

/**
 * Reads a blob from `offset` on, as much as `into` holds, without checking it against its name. A
 * backend without ranged reads downloads the whole blob.
 *
 * @returns the number of bytes read
 * @throws StorageError `limit` if it is longer than any blob, and what the backend throws
 */
export async function readRange(
  backend: Backend,
  address: string,
  offset: number,
  into: Uint8Array,
  options: ReadCallOptions,
): Promise<number> {
  if (backend.getRange) return backend.getRange(address, offset, into, options);
  // Memory that is not touched costs nothing.
  const blob = allocate(CHILD_BLOB_MAX);
  const length = await backend.get(address, blob, options);
  const part = blob.subarray(offset, Math.min(length, offset + into.length));
  into.set(part);
  return part.length;
}

/**
 * Downloads again, once, if the bytes do not match the address.
 *
 * @param attempt downloads once; returns undefined if the bytes do not match
 * @throws StorageError `address`, and what an attempt throws
 */
export async function downloadVerified<T>(
  backend: Backend,
  address: string,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let left = backend.local ? 1 : DOWNLOADS; left > 0; left--) {
    const intact = await attempt();
    if (intact !== undefined) return intact;
  }
  throw new StorageError(
    "address",
    `the blob ${address} is damaged or was replaced: its bytes do not match its address`,
  );
}

/** One at a time, because their memory is in no budget, and a tree may have many of them. */
const tooLong = pLimit(1);

/** As `fetchBlob`, for a blob that is longer than it should be, with room for any. */
async function fetchTooLong(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const fetching = async () => fetchBlob(backend, address, allocate(CHILD_BLOB_MAX), signal);
  return inTurn(tooLong, fetching, signal);
}

/** A node or leaf to fetch, and the memory for it. */
export interface ChildRequest {
  readonly kind: ChildKind;
  readonly reference: Reference;
  /** Bytes of plaintext, which the tree's shape determines. */
  readonly length: number;
  /** Holds the blob: `CHILD_OVERHEAD` bytes longer than the plaintext. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Receives the plaintext; by default it stays in the buffer. */
  readonly into?: Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Fetches, verifies and opens a node or leaf.
 *
 * @returns the plaintext, a view
 * @throws StorageError `not-found`, `limit`, `address`, `format`, `commit`, `auth`, `tree`
 */
export async function fetchChild(
  { backend, naCl }: StoreContext,
  { kind, reference, length, buffer, into, signal }: ChildRequest,
): Promise<Uint8Array<ArrayBuffer>> {
  const { address, contentKey } = reference;
  let blob: Uint8Array<ArrayBuffer>;
  try {
    blob = await fetchToOpen(backend, address, buffer, signal);
  } catch (error) {
    // Downloaded as a whole, so that a damaged blob gives `address` and a wrong length `tree`.
    if (!isTooLong(error)) throw error;
    blob = await fetchTooLong(backend, address, signal);
  }
  // After an abort, `into` belongs to the caller again.
  throwIfAborted(signal);
  const plaintext = openChild(naCl, kind, contentKey, blob, into);
  if (plaintext.length !== length) throw wrongLength(kind, address);
  return plaintext as Uint8Array<ArrayBuffer>;
}

/** The error for a child that is intact but does not fit its tree. */
export function wrongLength(kind: ChildKind, address: string): StorageError {
  return new StorageError(
    "tree",
    `the ${kind} ${address} does not have the length its tree requires`,
  );
}
