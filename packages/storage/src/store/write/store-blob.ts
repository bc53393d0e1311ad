import type { Backend } from "../../backend/backend.ts";
import type { CallOptions } from "../options.ts";
import { StorageError } from "../../errors.ts";

export interface StoreBlobOptions extends CallOptions {
  /** Another writer may have stored the same blob: only convergent content gives identical blobs. */
  readonly convergent: boolean;
  /** An earlier run of the caller stored it; it is enough that it still exists. */
  readonly storedBefore?: boolean;
}

/**
 * Stores a sealed blob under its address. A convergent blob is skipped if the server has verified
 * that it has exactly these bytes (docs/format.md, "Random and convergent writing"). A blob that
 * merely has the name proves nothing, because anyone may have planted garbage there. For a blob that
 * an earlier run of the caller stored, name and size are enough.
 *
 * @returns whether it was sent
 */
export async function storeBlob(
  backend: Backend,
  address: string,
  blob: Uint8Array,
  { convergent, storedBefore = false, signal }: StoreBlobOptions,
): Promise<boolean> {
  if (convergent || storedBefore) {
    const sizeOf = storedBefore ? storedSize : verifiedSize;
    const size = await unlessRefused(() => sizeOf(backend, address, signal));
    if (size === blob.length) return false;
  }
  await backend.put(address, blob, { signal, sha256: address });
  return true;
}

/**
 * The size of a blob whose bytes the server received intact: it verified their SHA-256 at upload,
 * and that is the blob's name. Does not detect damage since. Makes no request if the server does not
 * verify checksums.
 *
 * @returns undefined if the server has no matching checksum
 */
export async function verifiedSize(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const capabilities = await backend.capabilities?.({ signal });
  if (!capabilities?.verifiesChecksums) return undefined;
  const info = await backend.head(address, { signal });
  return info?.sha256 === address ? info.size : undefined;
}

/** The size of a blob that exists, unless the server reports a checksum that differs. */
async function storedSize(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const info = await backend.head(address, { signal });
  return info?.sha256 === undefined || info.sha256 === address ? info?.size : undefined;
}

/**
 * Undefined if the request is refused. Write-only credentials cannot HEAD, which is fine because
 * skipping is only an optimization; if something else is wrong, the put that follows reports it.
 */
export async function unlessRefused<T>(request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof StorageError) || error.transient || error.code === "aborted")
      throw error;
    return undefined;
  }
}
