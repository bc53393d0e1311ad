import type { Backend } from "../../backend/backend.ts";
import type { CallOptions } from "../options.ts";
import { StorageError } from "../../errors.ts";

export interface StoreBlobOptions extends CallOptions {
  /** Whether the blob may be there already: only equal content gives equal blobs. */
  readonly convergent: boolean;
  /** An earlier run of the caller stored it: then it is enough that it is still there. */
  readonly storedBefore?: boolean;
}

/**
 * Stores a sealed blob under its address. A convergent one is skipped where the store attests that
 * it has exactly these bytes (docs/format.md, "Random and convergent writing"). That there is
 * something under the name says nothing: anyone may have planted garbage there. Of what an earlier run
 * of the caller stored itself, name and size are enough, as within one run.
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
    const look = storedBefore ? sizeInStore : attestedSize;
    if ((await unlessRefused(() => look(backend, address, signal))) === blob.length) return false;
  }
  await backend.put(address, blob, { signal, sha256: address });
  return true;
}

/** The size of a blob that is there, unless the store itself vouches that its bytes are others. */
async function sizeInStore(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const info = await backend.head(address, { signal });
  return info?.sha256 === undefined || info.sha256 === address ? info?.size : undefined;
}

/**
 * Who may only write cannot ask, and does not need to: skipping is an economy. Where asking fails
 * for good, the put itself will say what is wrong, if anything is.
 */
export async function unlessRefused<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StorageError) || error.transient || error.code === "aborted")
      throw error;
    return undefined;
  }
}

/**
 * Asks whether the store itself vouches that the bytes it received under a name are the right ones:
 * it kept their SHA-256, and that is the name. Whether its disk still has them it does not look.
 * Takes no request where the store attests nothing.
 *
 * @returns the blob's size, or undefined where nothing is attested
 */
export async function attestedSize(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const capabilities = await backend.capabilities?.({ signal });
  if (!capabilities?.verifiesChecksums) return undefined;
  const info = await backend.head(address, { signal });
  return info?.sha256 === address ? info.size : undefined;
}
