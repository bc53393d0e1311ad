import type { Backend } from "../../backend/backend.ts";
import { StorageError } from "../../errors.ts";
import { addressOf } from "../../content/address.ts";
import { throwIfAborted } from "../../abort.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import type { ChildKind } from "../../crypto/key-schedule.ts";
import type { StoreContext } from "../context.ts";
import { openChild } from "../../crypto/seal.ts";
import type { Child } from "../tree/walk.ts";

/**
 * Downloads of the same blob that must all be wrong before the blob counts as damaged. One may
 * have been cut short or changed on its way, by whatever stands between here and the store. What
 * is read where it lies is read once.
 */
const DOWNLOADS = 2;

/**
 * Reads a blob into a buffer and checks it against its name.
 *
 * @returns the blob, a view of the buffer
 * @throws StorageError `limit`, `address`, and what the backend throws
 */
export async function fetchBlob(
  backend: Backend,
  address: string,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  return untilIntact(backend, address, async () => {
    const length = await backend.get(address, buffer, { signal });
    const blob = buffer.subarray(0, length);
    return addressOf(blob) === address ? blob : undefined;
  });
}

/**
 * Downloads until the bytes are those of the address.
 *
 * @param attempt downloads once; undefined says that the bytes are others
 * @throws StorageError `address`, and what an attempt throws
 */
export async function untilIntact<T>(
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
    `the bytes stored as ${address} are not the ones that were put: they are damaged or replaced`,
  );
}

/**
 * Fetches, verifies and opens a node or leaf.
 *
 * @param length the plaintext's length, which the tree's shape determines
 * @param buffer holds the blob meanwhile: 59 bytes longer than the plaintext
 * @param into receives the plaintext; by default it stays in the buffer
 * @returns the plaintext, a view
 * @throws StorageError `not-found`, `limit`, `address`, `format`, `commit`, `auth`, `tree`
 */
export async function fetchChild(
  context: StoreContext,
  child: Child,
  length: number,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal | undefined,
  into?: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const { address, contentKey } = child.reference;
  const kind: ChildKind = child.level === 1 ? "leaf" : "node";
  let blob: Uint8Array<ArrayBuffer>;
  try {
    blob = await fetchBlob(context.backend, address, buffer, signal);
  } catch (error) {
    // Longer than it can be: look at it with all the room a child may take, to name the fault.
    if (!(error instanceof StorageError && error.code === "limit")) throw error;
    const room = new Uint8Array(CHILD_BLOB_MAX);
    blob = await fetchBlob(context.backend, address, room, signal);
  }
  // Whoever reads has given up: the memory it gave is its own again.
  throwIfAborted(signal);
  const plaintext = openChild(context.naCl, kind, contentKey, blob, into);
  if (plaintext.length !== length) throw wrongLength(kind, address);
  return plaintext as Uint8Array<ArrayBuffer>;
}

/** The error of a child that is intact and not what its tree requires. */
export function wrongLength(kind: ChildKind, address: string): StorageError {
  return new StorageError(
    "tree",
    `the ${kind} ${address} does not have the length its tree requires`,
  );
}
