import type { Backend, CallOptions } from "../../backend/backend.ts";
import { StorageError } from "../../errors.ts";
import { equal } from "../../bytes.ts";
import type { StoreContext } from "../context.ts";
import { readRange } from "../read/fetch.ts";

export interface StoreBlobOptions {
  readonly signal: AbortSignal | undefined;
  /** Another writer may have stored the same blob: only convergent content gives identical blobs. */
  readonly convergent: boolean;
  /** An earlier run of the caller stored it; it is enough that it still exists. */
  readonly storedBefore?: boolean;
}

/**
 * Stores a sealed blob under its address. A convergent blob is skipped if the server has verified
 * that it has exactly these bytes (docs/format.md, "Storing"). A blob that merely has the name proves
 * nothing, because anyone may have planted garbage there. For a blob that an earlier run of the
 * caller stored, name and size are enough. In both cases the server must also return a part of the
 * blob: one that repeats the name as the checksum, or has lost the bytes, is not believed.
 *
 * All of it is measured as one call, because what is skipped takes requests, too.
 *
 * @returns whether it was sent
 */
export async function storeBlob(
  { backend, measuring }: Pick<StoreContext, "backend" | "measuring">,
  address: string,
  blob: Uint8Array,
  { signal, ...how }: StoreBlobOptions,
): Promise<boolean> {
  const store = () =>
    sendUnlessStored(backend, address, blob, { signal, onRetry: measuring?.retry, ...how });
  return measuring === undefined
    ? store()
    : measuring.measure(store, (sent) => (sent ? blob.length : 0));
}

/** @returns whether it was sent */
async function sendUnlessStored(
  backend: Backend,
  address: string,
  blob: Uint8Array,
  { convergent, storedBefore = false, ...given }: StoreBlobOptions & CallOptions,
): Promise<boolean> {
  if (convergent || storedBefore) {
    const sizeOf = storedBefore ? storedSize : verifiedSize;
    const stored = await unlessRefused(
      async () =>
        (await sizeOf(backend, address, given)) === blob.length &&
        (await hasRandomRange(backend, address, blob, given)),
    );
    if (stored) return false;
  }
  await backend.put(address, blob, { ...given, sha256: address });
  return true;
}

/** Whether the store returns the right bytes for a part of the blob that it could not foresee. */
async function hasRandomRange(
  backend: Backend,
  address: string,
  blob: Uint8Array,
  given: CallOptions,
): Promise<boolean> {
  const { offset, length } = randomRange(blob.length);
  const stored = new Uint8Array(length);
  // Uploading the blob costs less than waiting for a store that does not return it.
  const options = { ...given, optional: true };
  const found = await unlessUnreadable(readRange(backend, address, offset, stored, options));
  return found === length && equal(stored, blob.subarray(offset, offset + length));
}

/**
 * Undefined if the store does not return the bytes, for example because its disk has damaged them. A
 * put then replaces the blob; if the store is unavailable as a whole, the put reports it.
 */
export async function unlessUnreadable<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StorageError && /^(?:unavailable|address)$/u.test(error.code)) {
      return undefined;
    }
    throw error;
  }
}

/** Long enough that no one guesses it, and short enough to cost a request and nothing more. */
const RANGE_LENGTH = 64;

/** A random part of a blob of this size: 64 bytes, or all of a shorter one. */
export function randomRange(size: number): { offset: number; length: number } {
  const length = Math.min(RANGE_LENGTH, size);
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  return { offset: random! % (size - length + 1), length };
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
  options: CallOptions,
): Promise<number | undefined> {
  const capabilities = await backend.capabilities?.(options);
  if (!capabilities?.verifiesChecksums) return undefined;
  const info = await backend.head(address, options);
  return info?.sha256 === address ? info.size : undefined;
}

/** The size of a blob that exists, unless the server reports a checksum that differs. */
async function storedSize(
  backend: Backend,
  address: string,
  options: CallOptions,
): Promise<number | undefined> {
  const info = await backend.head(address, options);
  return info?.sha256 === undefined || info.sha256 === address ? info?.size : undefined;
}

/**
 * Undefined if the request is refused. Write-only credentials cannot HEAD or GET, which is fine
 * because skipping is only an optimization; if something else is wrong, the put that follows reports
 * it.
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
