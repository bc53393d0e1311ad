import { type Identity, type NaCl, StorageError } from "@idk/storage";
import { type SealedRoot, ROOT_BLOB_MAX, fetchBlob, openRoot, sealRoot } from "@idk/storage/blobs";
import type { MarkerBackend } from "./marker-backend.ts";
import { RECORD_TYPES } from "../format/records/types.ts";

/** The records that are always one blob: a head, a snapshot, or keys. */
export type RecordKind = Exclude<keyof typeof RECORD_TYPES, "reach">;

/** The code of what is no record of its kind. */
const CODES = { head: "head", snapshot: "tree", keys: "tree" } as const;

/**
 * Reads a record: one request.
 *
 * @throws StorageError of the blob format; `head` or `tree` if it is another kind of content
 */
export async function readRecord(
  { backend, naCl, identities }: RecordReader,
  kind: RecordKind,
  address: string,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  // As long as any root, so that a longer blob is refused before it is read.
  const blob = await fetchBlob(backend, address, new Uint8Array(ROOT_BLOB_MAX), { signal });
  const { content, metadata } = openRoot(naCl, blob, identities);
  const isRecord = metadata["type"] === RECORD_TYPES[kind] && metadata["enc"] === undefined;
  if (!isRecord || content === undefined) {
    throw new StorageError(CODES[kind], `the blob ${address} is not a ${kind}`);
  }
  return content;
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
  readonly backend: MarkerBackend;
  readonly naCl: NaCl;
  /** Each is tried. */
  readonly identities: readonly Identity[];
}
