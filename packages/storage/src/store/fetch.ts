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
  for (let left = backend.local ? 1 : DOWNLOADS; left > 0; left--) {
    const length = await backend.get(address, buffer, { signal });
    const blob = buffer.subarray(0, length);
    if (addressOf(blob) === address) return blob;
  }
  throw new StorageError(
    "address",
    `the bytes stored as ${address} are not the ones that were put: they are damaged or replaced`,
  );
}
