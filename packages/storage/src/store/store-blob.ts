import type { Backend } from "../backend/backend.ts";
import type { CallOptions } from "./store.ts";
import { StorageError } from "../errors.ts";
import { attestedSize } from "./attest.ts";

export interface StoreBlobOptions extends CallOptions {
  /** Whether the blob may be there already: only equal content gives equal blobs. */
  readonly convergent: boolean;
}

/**
 * Stores a sealed blob under its address. A convergent one is skipped where the store attests that
 * it has exactly these bytes (docs/format.md, "Random and convergent writing"). That there is
 * something under the name says nothing: anyone may have planted garbage there.
 */
export async function storeBlob(
  backend: Backend,
  address: string,
  blob: Uint8Array,
  { convergent, signal }: StoreBlobOptions,
): Promise<void> {
  if (convergent && (await knownSize(backend, address, signal)) === blob.length) return;
  await backend.put(address, blob, { signal, sha256: address });
}

/**
 * Who may only write cannot ask, and does not need to: skipping is an economy. Where asking fails
 * for good, the put itself will say what is wrong, if anything is.
 */
async function knownSize(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  try {
    return await attestedSize(backend, address, signal);
  } catch (error) {
    if (!(error instanceof StorageError) || error.transient || error.code === "aborted")
      throw error;
    return undefined;
  }
}
