import { type Store, StorageError, type StoredContent } from "@idk/storage";
import { segmentBytesMax } from "../segments/limits.ts";
import { decodeSegmentMetadata, type SegmentMetadata } from "../segments/metadata.ts";

/** Which segments to read. */
export interface ReadSegmentsOptions {
  /** Milliseconds since 1970: only segments with an exchange that began at this time or later. */
  readonly from?: number | undefined;
  /** Only segments with an exchange that began before this time. */
  readonly to?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each blob that was read. */
  readonly onBlob?: (() => void) | undefined;
}

/** A segment, opened. */
export interface Segment {
  readonly kind: "segment";
  readonly address: string;
  readonly metadata: SegmentMetadata;
  /** Bytes as stored. */
  readonly storedBytes: number;
  /** Bytes of its lines, as it announces them. */
  readonly size: number;
  /**
   * Its lines. Call it at most once, before the next segment is requested or later.
   *
   * @throws StorageError `format` if it is longer than a recorder makes one of so many lines
   */
  lines(): Promise<Uint8Array>;
}

/**
 * A blob of the archive's store.
 *
 * - `outside` a segment outside of the given times
 * - `closed`  a root for other recipients, which may be a segment
 * - `other`   a root that is not a segment, or a chunk of a long segment
 * - `damaged` it cannot be read, because of `error`
 */
export type ArchiveBlob =
  | Segment
  | {
      readonly kind: "outside";
      readonly address: string;
      readonly metadata: SegmentMetadata;
    }
  | { readonly kind: "closed" | "other"; readonly address: string }
  | { readonly kind: "damaged"; readonly address: string; readonly error: StorageError };

/** How much later than a segment's exchanges the store's clock may be behind: an hour. */
const CLOCKS_MS = 60 * 60 * 1000;

/**
 * The blobs of an archive, in order of completion. A segment is stored after its last exchange began,
 * so that those stored before `from` are not read. It may have been uploaded late, so `to` is decided
 * by its metadata.
 *
 * @throws StorageError `usage`, `key`, `permission`, `unavailable`, `aborted`
 */
export async function* archiveBlobs(
  store: Store,
  { from = -Infinity, to = Infinity, signal, onBlob }: ReadSegmentsOptions = {},
): AsyncGenerator<ArchiveBlob> {
  const sizes = new Map<string, number>();
  const candidates = async function* (): AsyncGenerator<string> {
    for await (const { address, size, storedAt = Infinity } of store.list({ signal })) {
      if (storedAt < from - CLOCKS_MS) continue;
      sizes.set(address, size);
      yield address;
    }
  };
  for await (const result of store.getMany(candidates(), { signal })) {
    const address = result.key;
    const storedBytes = sizes.get(address) ?? 0;
    sizes.delete(address);
    onBlob?.();
    if (!result.ok) {
      const failed = await failedBlob(store, address, result.error, signal);
      if (failed !== undefined) yield failed;
      continue;
    }
    const { blob } = result;
    const metadata = decodeSegmentMetadata(blob.metadata);
    if (metadata === undefined) yield { kind: "other", address };
    else if (metadata.to < from || metadata.from >= to) {
      yield { kind: "outside", address, metadata };
    } else {
      const lines = (): Promise<Uint8Array> => linesIn(blob, metadata);
      yield { kind: "segment", address, metadata, storedBytes, size: blob.size, lines };
    }
  }
}

/**
 * Reads the lines of a segment.
 *
 * @throws StorageError `format` if it is longer than a recorder makes one of so many lines
 */
export async function linesIn(
  blob: StoredContent,
  { count }: SegmentMetadata,
): Promise<Uint8Array> {
  const maxBytes = segmentBytesMax(count);
  if (blob.size <= maxBytes) return blob.bytes({ maxBytes });
  throw new StorageError(
    "format",
    `${blob.address} is not a segment of a recorder: it has ${blob.size} bytes, and with ` +
      `${count === 1 ? "1 line" : `${count} lines`} the limit is ${maxBytes}`,
  );
}

/** Errors that are about the blob, and not about the store. */
const DAMAGE: ReadonlySet<string> = new Set([
  "address",
  "format",
  "commit",
  "auth",
  "root",
  "tree",
  "encoding",
  "limit",
  "usage",
]);

/** @returns undefined if it was deleted after it was listed */
async function failedBlob(
  store: Store,
  address: string,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<ArchiveBlob | undefined> {
  if (!(error instanceof StorageError)) throw error as Error;
  if (error.code === "not-found") return undefined;
  if (error.code === "no-match") return { kind: "closed", address };
  if (!DAMAGE.has(error.code)) throw error;
  // Longer than any root.
  if (error.code === "limit") return { kind: "other", address };
  if (error.code === "format" && (await isChild(store, address, signal))) {
    return { kind: "other", address };
  }
  return { kind: "damaged", address, error };
}

/** Whether reading a segment failed because of the segment. */
export function isDamage(error: unknown): error is StorageError {
  return error instanceof StorageError && DAMAGE.has(error.code);
}

async function isChild(
  store: Store,
  address: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    return (await store.inspect(address, { signal })).kind === "child";
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}
