import { type Backend, type Identity, type NaCl, StorageError } from "@idk/storage";
import {
  type SealedRoot,
  ROOT_BLOB_MAX,
  fetchBlob,
  inTurn,
  openRoot,
  sealRoot,
} from "@idk/storage/blobs";
import pLimit from "p-limit";
import { RECORD_TYPES } from "../format/records/types.ts";
import type { RecentHeads } from "./recent-heads.ts";

/** The records that are always one blob: a head, a snapshot, or keys. */
export type RecordKind = Exclude<keyof typeof RECORD_TYPES, "reach">;

/** The code of what is no record of its kind. */
const CODES = { head: "head", snapshot: "tree", keys: "tree" } as const;

/**
 * Reads a record: one request, two for a long head, and none for one that was just read.
 *
 * @param onLong is called before a head is read that is so long that few can be held at once
 * @throws StorageError of the blob format; `head` or `tree` if it is another kind of content
 */
export async function readRecord(
  { backend, naCl, identities, recent }: RecordReader,
  kind: RecordKind,
  address: string,
  signal?: AbortSignal,
  onLong?: () => void,
): Promise<Uint8Array> {
  const read = async (buffer: Uint8Array<ArrayBuffer>) => {
    const blob = await fetchBlob(backend, address, buffer, { signal });
    const { content, metadata } = openRoot(naCl, blob, identities);
    const isRecord = metadata["type"] === RECORD_TYPES[kind] && metadata["enc"] === undefined;
    if (!isRecord || content === undefined) {
      throw new StorageError(CODES[kind], `the blob ${address} is not a ${kind}`);
    }
    return content.slice();
  };
  if (kind !== "head") return withRootBuffer(read);
  const known = recent?.get(address);
  if (known !== undefined) return known;
  try {
    const content = await withBuffer(FOR_HEADS, read);
    recent?.add(address, content);
    return content;
  } catch (error) {
    if (!(error instanceof StorageError && error.code === "limit")) throw error;
    onLong?.();
    return inTurn(longHeads, async () => withRootBuffer(read), signal);
  }
}

/** Anyone who can put can make long heads, of which each takes a buffer of two MiB. */
const longHeads = pLimit(8);

/** Buffers of one length, of which some are kept for the next read. */
interface Buffers {
  readonly length: number;
  readonly most: number;
  readonly kept: Uint8Array<ArrayBuffer>[];
}

/** For any root. */
const FOR_ROOTS: Buffers = { length: ROOT_BLOB_MAX, most: 16, kept: [] };
/** For nearly all heads, of which many are read at once. */
const FOR_HEADS: Buffers = { length: 64 * 1024, most: 64, kept: [] };

/**
 * Calls `use` with a buffer that is as long as any root, so that a longer blob is refused before it is
 * read. The buffer is valid until the promise settles, so the result has to be a copy: with a new buffer
 * for each, reading many records would mostly clear memory.
 */
export async function withRootBuffer<T>(
  use: (buffer: Uint8Array<ArrayBuffer>) => Promise<T>,
): Promise<T> {
  return withBuffer(FOR_ROOTS, use);
}

async function withBuffer<T>(
  { length, most, kept }: Buffers,
  use: (buffer: Uint8Array<ArrayBuffer>) => Promise<T>,
): Promise<T> {
  const buffer = kept.pop() ?? new Uint8Array(length);
  // Not where this fails: a backend that was given up may still write to it.
  const result = await use(buffer);
  if (kept.length < most) kept.push(buffer);
  return result;
}

/** Seals a record. */
export function sealRecord(
  naCl: NaCl,
  kind: RecordKind,
  content: Uint8Array,
  recipients: readonly string[],
): SealedRoot {
  return sealRoot(naCl, { content, metadata: { type: RECORD_TYPES[kind] }, recipients });
}

/** What it takes to read records. */
export interface RecordReader {
  readonly backend: Backend;
  readonly naCl: NaCl;
  /** Each is tried. */
  readonly identities: readonly Identity[];
  /** Heads that need not be fetched again. */
  readonly recent?: RecentHeads | undefined;
}
