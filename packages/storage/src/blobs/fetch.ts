import type { Backend, CallOptions } from "../backend/backend.ts";
import { parseAddress } from "../crypto/address.ts";
import { fetchBlob as fetchVerified } from "../store/read/fetch.ts";

/**
 * Reads a blob into the beginning of a buffer and checks that it has its address. Over a network, a
 * blob that does not is downloaded once more.
 *
 * @param buffer as long as the longest blob to accept, such as `CHILD_OVERHEAD` bytes longer than a
 *   child's plaintext, or `ROOT_BLOB_MAX`
 * @returns the blob, a view of the buffer
 * @throws StorageError `limit` if the blob is longer than the buffer, `address`, `not-found`, and what
 *   the backend throws; `usage`
 */
export async function fetchBlob(
  backend: Backend,
  address: string,
  buffer: Uint8Array<ArrayBuffer>,
  { signal }: CallOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  return fetchVerified(backend, parseAddress(address), buffer, signal);
}
