import { type Address, parseAddress } from "../../crypto/address.ts";
import { type Root, decodeRoot } from "../../format/root.ts";
import { checkIdentities } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { ROOT_BLOB_MAX } from "../../format/limits.ts";
import type { ReadOptions } from "../options.ts";
import { fetchBlob } from "./fetch.ts";
import { openRoot } from "../../crypto/seal.ts";
import { throwIfAborted } from "../../abort.ts";

export interface OpenedRoot extends Root {
  readonly address: Address;
  readonly recipients: number;
  /** Bytes of the root's blob. */
  readonly storedBytes: number;
}

/** A root whose body is in one of the store's buffers. */
export interface BorrowedRoot {
  readonly root: OpenedRoot;
  /** Returns the buffer to the store. Call it once; the body is invalid afterwards. */
  release(): void;
}

/** Fetches, verifies and opens a root; see `Store.get` for the errors. */
export async function readRoot(
  context: StoreContext,
  text: string,
  options: ReadOptions,
): Promise<OpenedRoot> {
  return copyAndRelease(await borrowRoot(context, text, options));
}

/** As `readRoot`, for callers that read many at the same time: as many are fetched as transfer fastest. */
export async function readRootInTurn(
  context: StoreContext,
  text: string,
  options: ReadOptions,
): Promise<OpenedRoot> {
  // Before it waits.
  parseAddress(text);
  checkIdentities(context.defaults, options);
  throwIfAborted(options.signal);
  return context.flows.singleRoots.pass(
    (backend) => readRoot({ ...context, backend }, text, options),
    { signal: options.signal },
  );
}

/** Copies a borrowed root's body and returns the buffer. */
export function copyAndRelease({ root, release }: BorrowedRoot): OpenedRoot {
  const body = new Uint8Array(root.body);
  release();
  return { ...root, body };
}

/** As `readRoot`, but does not copy the body, which may be a megabyte of content. */
export async function borrowRoot(
  context: StoreContext,
  text: string,
  options: ReadOptions,
): Promise<BorrowedRoot> {
  const address = parseAddress(text);
  const keyPairs = checkIdentities(context.defaults, options);
  throwIfAborted(options.signal);
  const buffer = context.rootBuffers.acquire(ROOT_BLOB_MAX);
  const blob = await fetchBlob(context.backend, address, buffer, options.signal);
  const { plaintext, recipients } = openRoot(context.naCl, blob, keyPairs);
  const root = { ...decodeRoot(plaintext), address, recipients, storedBytes: blob.length };
  return { root, release: () => context.rootBuffers.release(buffer) };
}

/**
 * Bytes of content after decompression. If the metadata's claim is malformed this is the stored
 * length: only reading the content reports the fault.
 */
export function decodedLength({ metadata, contentLength }: OpenedRoot): number {
  const { enc, len } = metadata;
  return enc !== undefined && typeof len === "number" ? len : contentLength;
}
