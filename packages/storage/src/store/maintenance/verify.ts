import { type Address, parseAddress } from "../../content/address.ts";
import type { Progress, ReadOptions } from "../options.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";
import { type StoreContext, assertOptions, concurrencyOf } from "../context.ts";
import { StorageError, usage } from "../../errors.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import { allocate } from "../buffers.ts";
import { allLeaves } from "../tree/walk.ts";
import { assertEphemeral } from "../../crypto/wrap.ts";
import { attestedSize } from "../write/store-blob.ts";
import { fetchBlob } from "../read/fetch.ts";
import { inspectBlob } from "../../format/envelope.ts";
import { readLeaves } from "../read/read-leaves.ts";
import { readRoot } from "../read/read-root.ts";
import { storedChildren } from "../../format/tree.ts";

export interface VerifyOptions extends ReadOptions {
  /** Open the root and check all that is below it; takes an identity. */
  readonly deep?: boolean | undefined;
  /**
   * Take the store's word where it attests the SHA-256 that a blob had at upload, and read only
   * what it does not vouch for. Finds no bit rot. Not together with `deep`.
   */
  readonly attested?: boolean | undefined;
  /** Chunks checked at once, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  /** With `deep`: told the content checked so far, as of a get, after each chunk of a tree. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface VerifyReport {
  readonly address: Address;
  /** Undefined where the blob was not read: its name and size do not tell. */
  readonly kind: "root" | "child" | undefined;
  /** Blobs and bytes checked. */
  readonly blobs: number;
  readonly bytes: number;
  /**
   * Whether the store's word was taken: it received bytes whose SHA-256 is the name. False
   * where the bytes were read and checked here, with their envelope.
   */
  readonly attested: boolean;
}

/** Checks a blob, or a whole tree; see `Store.verify`. */
export async function verify(
  context: StoreContext,
  text: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  assertOptions(options);
  if (options.deep && options.attested) {
    throw usage(
      "deep reads the whole tree, and then nothing is left to attest: give one or the other",
    );
  }
  if (options.deep) return verifyTree(context, text, options);
  return (
    (options.attested && (await verifyAttested(context, text, options))) ||
    verifyBlob(context, text, options)
  );
}

/** Without a download; undefined where the store does not vouch for these bytes. */
async function verifyAttested(
  { backend }: StoreContext,
  text: string,
  { signal }: VerifyOptions,
): Promise<VerifyReport | undefined> {
  const address = parseAddress(text);
  const bytes = await attestedSize(backend, address, signal);
  if (bytes === undefined) return undefined;
  if (bytes > CHILD_BLOB_MAX) throw new StorageError("limit", `the blob ${address} is too long`);
  return { address, kind: undefined, blobs: 1, bytes, attested: true };
}

/** Without a key: the bytes match the name, and the envelope is one of the format. */
async function verifyBlob(
  context: StoreContext,
  text: string,
  { signal }: VerifyOptions,
): Promise<VerifyReport> {
  const address = parseAddress(text);
  throwIfAborted(signal);
  // The larger of the two kinds: which one it is shows only in its header. Memory that is not
  // touched costs nothing, so this buffer does not go round with smaller ones.
  const blob = await fetchBlob(context.backend, address, allocate(CHILD_BLOB_MAX), signal);
  const { kind, header } = inspectBlob(address, blob);
  if (kind === "root") assertEphemeral(header.ephemeral);
  return { address, kind, blobs: 1, bytes: blob.length, attested: false };
}

/** With a key: every blob of the tree passes every check that reading its content would make. */
async function verifyTree(
  context: StoreContext,
  text: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const concurrency = concurrencyOf(context.defaults, options.concurrency);
  const root = await readRoot(context, text, options);
  const { signal, stop } = linkedAbort(options.signal);
  try {
    const leaves = readLeaves(context, root, allLeaves(root.shape), { concurrency, signal });
    let [bytes, chunks] = [0, 0];
    for await (const leaf of leaves) {
      bytes += leaf.content.length;
      chunks += 1;
      leaf.release();
      options.onProgress?.({ bytes, total: root.contentLength, chunks });
    }
  } finally {
    stop();
  }
  const { blobs, bytes } = storedChildren(root.shape);
  return {
    address: root.address,
    kind: "root",
    blobs: blobs + 1,
    bytes: root.storedBytes + bytes,
    attested: false,
  };
}
