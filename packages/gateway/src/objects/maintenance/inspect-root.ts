import { type Backend, type Identity, type NaCl, StorageError, type Store } from "@idk/storage";
import { CHILD_OVERHEAD, fetchBlob, openRoot, ROOT_BLOB_MAX } from "@idk/storage/blobs";
import pLimit from "p-limit";
import { isAuthentic, type MacKeys } from "../identity/mac.ts";
import { MANIFEST_MAX } from "../identity/manifest.ts";
import { decodeRecord, type RootRecord } from "../identity/records.ts";

/** What a blob turns out to be. */
export type InspectedBlob =
  /** A leaf or node. */
  | { readonly kind: "child" }
  /** A root without a record: content. */
  | { readonly kind: "content" }
  | { readonly kind: "record"; readonly record: RootRecord; readonly content: Uint8Array }
  /**
   * It opens, but the MAC is not ours: whoever made it knew a public key and nothing else. Or it was made
   * for another store.
   */
  | { readonly kind: "forged" }
  /** It could not be read or opened, so nobody knows what it is. */
  | { readonly kind: "unknown"; readonly error: Error };

/** What inspecting takes. */
export interface Inspector {
  readonly backend: Backend;
  readonly naCl: NaCl;
  readonly identities: readonly Identity[];
  readonly macKeys: MacKeys;
  /** To read the content of long manifests. */
  readonly roots: Store;
  /** Whether what was made for a store counts. */
  readonly accepts: (store: string) => boolean;
}

/** From this length on, reading a few bytes first costs less than downloading a blob for nothing. */
const HEADER_FIRST_MIN = 64 * 1024;
const PREAMBLE_LENGTH = 6;
const TAG_LENGTH = 16;
/** Every child has a header of this length, and no root does. */
const CHILD_HEADER = CHILD_OVERHEAD - PREAMBLE_LENGTH - TAG_LENGTH;

/** Long manifests are read one after another: each may take much memory. */
const longInTurn = pLimit(1);

/** Finds out what a blob is. Takes one request, or two if it is long. */
export async function inspectRoot(
  inspector: Inspector,
  { address, size }: { readonly address: string; readonly size: number },
  signal?: AbortSignal,
): Promise<InspectedBlob> {
  try {
    return await inspect(inspector, address, size, signal);
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: "unknown", error: error instanceof Error ? error : new Error(String(error)) };
  }
}

async function inspect(
  { backend, naCl, identities, macKeys, roots, accepts }: Inspector,
  address: string,
  size: number,
  signal: AbortSignal | undefined,
): Promise<InspectedBlob> {
  if (size > ROOT_BLOB_MAX) return { kind: "child" };
  if (size >= HEADER_FIRST_MIN && backend.getRange !== undefined) {
    const start = new Uint8Array(PREAMBLE_LENGTH);
    await backend.getRange(address, 0, start, { signal });
    if (isChild(start)) return { kind: "child" };
  }
  const blob = await fetchBlob(backend, address, new Uint8Array(size), { signal });
  if (isChild(blob)) return { kind: "child" };
  const { content, metadata } = openRoot(naCl, blob, identities);
  const { s3: record, mac } = metadata;
  if (record === undefined && mac === undefined) return { kind: "content" };
  if (!(record instanceof Uint8Array) || !(mac instanceof Uint8Array)) return { kind: "forged" };
  const whole = content ?? (await readLong(roots, address, signal));
  if (!isAuthentic(macKeys, mac, record, whole)) return { kind: "forged" };
  const decoded = decodeRecord(record);
  if (!accepts(decoded.store)) return { kind: "forged" };
  return { kind: "record", record: decoded, content: whole };
}

/** Whether a blob is a leaf or node, from its first bytes. That it is a valid one is not checked. */
function isChild(start: Uint8Array): boolean {
  return start.length >= PREAMBLE_LENGTH && CHILD_HEADER === (start[4]! << 8) + start[5]!;
}

async function readLong(
  roots: Store,
  address: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  return longInTurn(async () => {
    const root = await roots.get(address, { signal });
    return root.bytes({ maxBytes: MANIFEST_MAX });
  });
}

/** Whether a blob is simply not there any more. */
export function isMissing(error: unknown): boolean {
  return error instanceof StorageError && error.code === "not-found";
}

/** Whether a store may give another answer later, so that nothing follows from this one. */
export function isTransient(error: unknown): boolean {
  return error instanceof StorageError && (error.code === "unavailable" || error.transient);
}

/** Whether the blob may be all right: credentials that were refused are renewed, too, and it is tried again later. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false;
  return error.transient || ["unavailable", "permission", "aborted"].includes(error.code);
}
