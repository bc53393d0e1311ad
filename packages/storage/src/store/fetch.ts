import type { Backend } from "../backend/backend.ts";
import { StorageError } from "../errors.ts";
import { addressOf } from "../content/address.ts";

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
