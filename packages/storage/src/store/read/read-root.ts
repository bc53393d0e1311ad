import { throwIfAborted } from "../../abort.ts";
import { type Address, parseAddress } from "../../content/address.ts";
import { type Root, decodeRoot } from "../../format/root.ts";
import { type StoreContext, keyPairsOf } from "../context.ts";
import { ROOT_BLOB_MAX } from "../../format/limits.ts";
import type { ReadOptions } from "../options.ts";
import { fetchBlob } from "./fetch.ts";
import { openRoot } from "../../crypto/seal.ts";

export interface OpenedRoot extends Root {
  readonly address: Address;
  readonly recipients: number;
  /** Bytes of the root's blob. */
  readonly storedBytes: number;
}

/** A root whose body still lies in a buffer of the store's. */
export interface LentRoot {
  readonly root: OpenedRoot;
  /** Allows the buffer to be used again, once. The body is not looked at afterwards. */
  release(): void;
}

/** Fetches, verifies and opens a root; see `Store.get` for the errors. */
export async function readRoot(
  context: StoreContext,
  text: string,
  options: ReadOptions,
): Promise<OpenedRoot> {
  return keepRoot(await borrowRoot(context, text, options));
}

/** Ends the lending: the root with a body of its own. */
export function keepRoot({ root, release }: LentRoot): OpenedRoot {
  const body = new Uint8Array(root.body);
  release();
  return { ...root, body };
}

/** The same without a copy of the body, which may be a megabyte of content. */
export async function borrowRoot(
  context: StoreContext,
  text: string,
  options: ReadOptions,
): Promise<LentRoot> {
  const address = parseAddress(text);
  const keyPairs = keyPairsOf(context.defaults, options);
  throwIfAborted(options.signal);
  const buffer = context.readBuffers.acquire(ROOT_BLOB_MAX);
  const blob = await fetchBlob(context.backend, address, buffer, options.signal);
  const { plaintext, recipients } = openRoot(context.naCl, blob, keyPairs);
  const root = { ...decodeRoot(plaintext), address, recipients, storedBytes: blob.length };
  return { root, release: () => context.readBuffers.release(buffer) };
}
