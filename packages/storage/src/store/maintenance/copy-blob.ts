import { inspectBlob } from "../../format/envelope.ts";
import { type ErrorCode, StorageError, isTooLong } from "../../errors.ts";
import type { Backend } from "../../backend/backend.ts";
import type { BufferPool } from "../buffers.ts";
import { SHORT_BLOB } from "../check-options.ts";
import { equal } from "../../bytes.ts";
import { isShort } from "../flow/gate.ts";
import { fetchBlob, readRange } from "../read/fetch.ts";
import { randomRange, unlessRefused, unlessUnreadable } from "../write/store-blob.ts";

/** A blob to copy. */
export interface NamedBlob {
  readonly name: string;
  /** At the source, if a listing reported it. */
  readonly size?: number | undefined;
}

export type CopyResult =
  | { readonly outcome: "copied"; readonly bytes: number }
  /** `bytes` were downloaded. */
  | { readonly outcome: "skipped"; readonly bytes: number }
  | { readonly outcome: "failed"; readonly error: StorageError }
  /** It is a root, to be copied later. */
  | { readonly outcome: "held"; readonly bytes: number };

export interface CopyMode {
  readonly holdRoots: boolean;
  /** The target has been checked already. */
  readonly knownMissing: boolean;
  /** Bytes that the blobs have at most. */
  readonly longest: number;
}

export interface CopierOptions {
  readonly from: Backend;
  readonly to: Backend;
  readonly trustSize: boolean;
  /** For whole blobs. */
  readonly buffers: BufferPool;
  /** How many blobs the source has not delivered, one after the other: all copiers of one copy count them. */
  readonly unreadable: { inARow: number };
  readonly signal: AbortSignal;
}

/** Faults of a single blob, not of the whole source. */
const BLOB_FAULTS: ReadonlySet<ErrorCode> = new Set(["limit", "address", "format", "not-found"]);

/**
 * After this many undeliverable blobs in a row, the source itself counts as broken, or the credentials as
 * refused. Fewer may be single blobs on a bad disk, for which a server reports that it is busy, or blobs that
 * another account has stored.
 */
const UNREADABLE_IN_A_ROW = 8;

export type Copier = (blob: NamedBlob, mode: CopyMode) => Promise<CopyResult>;

/** Copies single blobs without a key; see `replicate`. */
export function createCopier(options: CopierOptions): Copier {
  const { from, to, trustSize, buffers, unreadable, signal } = options;

  /** How many bytes of the target's blob were downloaded to find it the same; undefined if it is not. */
  const compareTarget = async (
    blob: NamedBlob,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<number | undefined> => {
    const { name } = blob;
    let info = await to.head(name, { signal });
    if (info === undefined) return undefined;
    const verifies = (await to.capabilities?.({ signal }))?.verifiesChecksums === true;
    // The first HEAD may have been sent before it was known that the target verifies checksums.
    if (verifies && info.sha256 === undefined) info = await to.head(name, { signal });
    if (info === undefined) return undefined;
    const attested = verifies && info.sha256 !== undefined;
    if (attested && info.sha256 !== name) return undefined;
    if (attested || trustSize) {
      const same = await compareSample(blob, info.size);
      if (same !== undefined) return same ? 0 : undefined;
    }
    const fetched = await outcomeOf(fetchBlob(to, name, buffer, signal));
    return isFault(fetched) ? undefined : fetched.length;
  };

  /**
   * Whether the target's blob has the size of the source's and the same bytes at a random place;
   * false also if the target does not return its bytes. Undefined if only a download can tell: the
   * bytes differ, or the source does not return them.
   */
  const compareSample = async (
    { name, size }: NamedBlob,
    targetSize: number,
  ): Promise<boolean | undefined> => {
    const sourceSize = size ?? (await from.head(name, { signal }).catch(unlessAborted))?.size;
    if (sourceSize === undefined) return undefined;
    if (sourceSize !== targetSize) return false;
    const { offset, length } = randomRange(targetSize);
    const sampling = { signal, optional: true };
    const sampleOf = async (backend: Backend): Promise<Uint8Array> => {
      const sample = new Uint8Array(length);
      return sample.subarray(0, await readRange(backend, name, offset, sample, sampling));
    };
    const reading = sampleOf(from).catch(unlessAborted);
    // Both have to settle, because nothing may be in flight when the copy ends.
    const [mine, theirs] = await Promise.allSettled([reading, unlessUnreadable(sampleOf(to))]);
    if (mine.status === "rejected") throw mine.reason;
    if (theirs.status === "rejected") throw theirs.reason;
    if (theirs.value === undefined) return false;
    const same = mine.value?.length === length && equal(mine.value, theirs.value);
    return same ? true : undefined;
  };

  /**
   * Reads and checks a blob. Returns a fault of the blob; throws a fault of the source, and `limit` if the
   * blob is longer than listed.
   */
  const read = async ({ name, size }: NamedBlob, buffer: Uint8Array<ArrayBuffer>) => {
    try {
      const bytes = await fetchBlob(from, name, buffer, signal);
      unreadable.inARow = 0;
      return { bytes, ...inspectBlob(name, bytes) };
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (size !== undefined && isTooLong(error)) throw error;
      if (BLOB_FAULTS.has(error.code)) {
        unreadable.inARow = 0;
        return error;
      }
      if (error.code !== "unavailable" && error.code !== "permission") throw error;
      unreadable.inARow += 1;
      if (unreadable.inARow >= UNREADABLE_IN_A_ROW) throw error;
      // A refusal is an answer, and a HEAD request for this blob may be refused, too.
      if (error.code === "unavailable" && !(await headSucceeds(from, name, signal))) throw error;
      return error;
    }
  };

  const copy = async (
    blob: NamedBlob,
    { holdRoots, knownMissing }: CopyMode,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<CopyResult> => {
    const { name } = blob;
    const compared = knownMissing
      ? undefined
      : await unlessRefused(() => compareTarget(blob, buffer));
    if (compared !== undefined) return { outcome: "skipped", bytes: compared };
    const fetched = await read(blob, buffer);
    if (isFault(fetched)) return { outcome: "failed", error: fetched };
    const { length } = fetched.bytes;
    if (fetched.kind === "root" && holdRoots) return { outcome: "held", bytes: length };
    await to.put(name, fetched.bytes, { signal, sha256: name });
    return { outcome: "copied", bytes: length };
  };

  return async (blob, mode) => {
    const buffer = buffers.acquire(isShort(blob.size) ? SHORT_BLOB : mode.longest);
    const result = await copy(blob, mode, buffer.subarray(0, blob.size));
    // A failed call may still write to it.
    if (result.outcome !== "failed") buffers.release(buffer);
    return result;
  };
}

/** A fault of the source is reported when the blob is read from it. */
function unlessAborted(error: unknown): undefined {
  if (!(error instanceof StorageError) || error.code === "aborted") throw error;
}

async function headSucceeds(backend: Backend, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await backend.head(name, { signal });
    return true;
  } catch (error) {
    if (error instanceof StorageError && error.code !== "aborted") return false;
    throw error;
  }
}

/** The result of a call, or the fault of the blob; other errors are thrown. */
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
