import { type Address, parseAddress } from "../content/address.ts";
import { type Root, decodeRoot } from "../format/root.ts";
import { type StoreContext, keyPairsOf } from "./context.ts";
import { ROOT_BLOB_MAX } from "../format/limits.ts";
import type { ReadOptions } from "./store.ts";
import { fetchBlob } from "./fetch.ts";
import { openRoot } from "../crypto/open.ts";
import { throwIfAborted } from "../errors.ts";

export interface OpenedRoot extends Root {
  readonly address: Address;
  readonly recipients: number;
  /** Bytes of the root's blob. */
  readonly storedBytes: number;
}

/** Fetches, verifies and opens a root; see `Store.get` for the errors. */
export async function readRoot(
  context: StoreContext,
  text: string,
  options: ReadOptions,
): Promise<OpenedRoot> {
  const address = parseAddress(text);
  const keyPairs = keyPairsOf(context.defaults, options);
  throwIfAborted(options.signal);
  const buffer = context.readBuffers.acquire(ROOT_BLOB_MAX);
  const blob = await fetchBlob(context.backend, address, buffer, options.signal);
  const { plaintext, recipients } = openRoot(context.naCl, blob, keyPairs);
  const root = { ...decodeRoot(plaintext), address, recipients, storedBytes: blob.length };
  context.readBuffers.release(buffer);
  return root;
}
