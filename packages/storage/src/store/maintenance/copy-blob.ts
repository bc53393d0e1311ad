import { inspectBlob } from "../../format/envelope.ts";
import { type ErrorCode, StorageError } from "../../errors.ts";
import type { Backend } from "../../backend/backend.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import { createBufferPool } from "../buffers.ts";
import { fetchBlob } from "../read/fetch.ts";
import { unlessRefused } from "../write/store-blob.ts";

/** A blob to copy. Its size at the source, where a listing gave one. */
export interface NamedBlob {
  readonly name: string;
  readonly size?: number | undefined;
}

export type CopyResult =
  | { readonly outcome: "copied"; readonly bytes: number }
  | { readonly outcome: "skipped" }
  | { readonly outcome: "failed"; readonly error: StorageError }
  /** It is a root, and its turn has not come. */
  | { readonly outcome: "held" };

export interface CopyMode {
  readonly holdRoots: boolean;
  /** The target has been asked already. */
  readonly targetLacks: boolean;
}

export interface CopierOptions {
  readonly from: Backend;
  readonly to: Backend;
  readonly trustSize: boolean;
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/** Faults of a blob, rather than of a store. */
const BLOB_FAULTS: ReadonlySet<ErrorCode> = new Set(["limit", "address", "format", "not-found"]);

/**
 * Blobs in a row that the source does not give, at which it is the source that is broken. A store
 * may say that it is busy where it is one blob that its disk does not give back.
 */
const UNREADABLE_IN_A_ROW = 8;

/** Copies single blobs without a key; see `replicate`. */
export function createCopier(
  options: CopierOptions,
): (blob: NamedBlob, mode: CopyMode) => Promise<CopyResult> {
  const { from, to, trustSize, concurrency, signal } = options;
  const buffers = createBufferPool(concurrency);

  const targetHas = async (blob: NamedBlob, buffer: Uint8Array<ArrayBuffer>): Promise<boolean> => {
    const { name } = blob;
    let there = await to.head(name, { signal });
    if (there === undefined) return false;
    const attests = (await to.capabilities?.({ signal }))?.verifiesChecksums === true;
    // The first look may have come before it was known that the target attests.
    if (attests && there.sha256 === undefined) there = await to.head(name, { signal });
    if (there === undefined) return false;
    if (attests && there.sha256 !== undefined) return there.sha256 === name;
    if (trustSize) return there.size === (blob.size ?? (await from.head(name, { signal }))?.size);
    return !isFault(await outcomeOf(fetchBlob(to, name, buffer, signal)));
  };

  let unreadable = 0;

  /** Reads and checks a blob, or tells what is wrong with it. Throws what is wrong with the source. */
  const read = async (name: string, buffer: Uint8Array<ArrayBuffer>) => {
    try {
      const bytes = await fetchBlob(from, name, buffer, signal);
      unreadable = 0;
      return { bytes, ...inspectBlob(name, bytes) };
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (BLOB_FAULTS.has(error.code)) {
        unreadable = 0;
        return error;
      }
      if (error.code !== "unavailable") throw error;
      unreadable += 1;
      if (unreadable >= UNREADABLE_IN_A_ROW || !(await answersHead(from, name, signal)))
        throw error;
      return error;
    }
  };

  const copy = async (
    blob: NamedBlob,
    { holdRoots, targetLacks }: CopyMode,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<CopyResult> => {
    const { name } = blob;
    if (!targetLacks && (await unlessRefused(() => targetHas(blob, buffer)))) {
      return { outcome: "skipped" };
    }
    const fetched = await read(name, buffer);
    if (isFault(fetched)) return { outcome: "failed", error: fetched };
    if (fetched.kind === "root" && holdRoots) return { outcome: "held" };
    await to.put(name, fetched.bytes, { signal, sha256: name });
    return { outcome: "copied", bytes: fetched.bytes.length };
  };

  return async (blob, mode) => {
    const buffer = buffers.acquire(CHILD_BLOB_MAX);
    const result = await copy(blob, mode, buffer);
    buffers.release(buffer);
    return result;
  };
}

async function answersHead(backend: Backend, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await backend.head(name, { signal });
    return true;
  } catch (error) {
    if (error instanceof StorageError && error.code !== "aborted") return false;
    throw error;
  }
}

/** What a call gives, or what is wrong with the blob. Other errors are thrown on. */
async function outcomeOf<T>(call: Promise<T>): Promise<T | StorageError> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StorageError && BLOB_FAULTS.has(error.code)) return error;
    throw error;
  }
}

function isFault(outcome: unknown): outcome is StorageError {
  return outcome instanceof StorageError;
}
