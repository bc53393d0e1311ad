import { parseAddress } from "../../crypto/address.ts";
import type { VerifyOptions, VerifyReport } from "./verify-options.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";
import { SHORT_BLOB, assertOptions, checkConcurrency } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { StorageError, usage } from "../../errors.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import { allLeaves } from "../tree/walk.ts";
import { assertEphemeral } from "../../crypto/wrap-key.ts";
import { verifiedSize } from "../write/store-blob.ts";
import { fetchBlob } from "../read/fetch.ts";
import { inTurn } from "../../queue.ts";
import { isShort, isSize } from "../flow/gate.ts";
import type { Measuring } from "../flow/measuring.ts";
import { inspectBlob } from "../../format/envelope.ts";
import { readLeaves } from "../read/read-leaves.ts";
import type { Backend } from "../../backend/backend.ts";
import { type OpenedRoot, readRootInTurn } from "../read/read-root.ts";
import { storedChildren } from "../../format/tree.ts";
import { verifyComplete } from "./verify-complete.ts";

/** Checks a blob, or a whole tree; see `Store.verify`. */
export async function verify(
  context: StoreContext,
  text: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  assertOptions(options);
  const { deep, complete, serverChecksums, size } = options;
  if (size !== undefined && !isSize(size)) {
    throw usage("size must be a number of bytes, 0 or more");
  }
  if (deep && serverChecksums) {
    throw usage("deep downloads the whole tree: it cannot be combined with serverChecksums");
  }
  if (complete && (deep || serverChecksums)) {
    throw usage("complete cannot be combined with deep or serverChecksums");
  }
  if (complete) return verifyComplete(context, text, options);
  if (deep) return verifyTree(context, text, options);
  if (!serverChecksums) return verifyBlob(context, text, options);
  return (
    (await verifyByChecksum(context, text, options)) ?? (await verifyBlob(context, text, options))
  );
}

/** Without a download; undefined if the server has no matching checksum. */
async function verifyByChecksum(
  { backend, flows }: StoreContext,
  text: string,
  { signal }: VerifyOptions,
): Promise<VerifyReport | undefined> {
  const address = parseAddress(text);
  const ask = ({ measure, retry }: Measuring) =>
    measure(
      () => verifiedSize(backend, address, { signal, onRetry: retry }),
      () => 0,
    );
  const bytes = await flows.singleRequests.pass(ask, { signal });
  if (bytes === undefined) return undefined;
  if (bytes > CHILD_BLOB_MAX) throw new StorageError("limit", `the blob ${address} is too long`);
  return { address, kind: undefined, blobs: 1, bytes, verifiedByServer: true };
}

/** Without a key: the bytes match the name, and the envelope is valid. */
async function verifyBlob(
  context: StoreContext,
  text: string,
  { signal, size }: VerifyOptions,
): Promise<VerifyReport> {
  const address = parseAddress(text);
  throwIfAborted(signal);
  const fetchAndCheck = async (backend: Backend, listed?: number): Promise<VerifyReport> => {
    const { blobBuffers } = context;
    const buffer = blobBuffers.acquire(isShort(listed) ? SHORT_BLOB : CHILD_BLOB_MAX);
    const blob = await fetchBlob(backend, address, buffer.subarray(0, listed), signal);
    const { kind, header } = inspectBlob(address, blob);
    if (kind === "root") assertEphemeral(header.ephemeral);
    blobBuffers.release(buffer);
    return { address, kind, blobs: 1, bytes: blob.length, verifiedByServer: false };
  };
  return context.flows.wholeBlobs.pass(fetchAndCheck, { signal, size });
}

/** With a key: every blob of the tree passes every check that reading the content makes. */
async function verifyTree(
  context: StoreContext,
  text: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  checkConcurrency(options.concurrency);
  const root = await readRootInTurn(context, text, options);
  const reading = () => readTree(context, root, options);
  if (root.shape.depth > 0) await inTurn(context.queueTree, reading, options.signal);
  return reportOf(root);
}

async function readTree(
  context: StoreContext,
  root: OpenedRoot,
  options: VerifyOptions,
): Promise<void> {
  const concurrency = options.concurrency ?? context.defaults.concurrency;
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
}

function reportOf(root: OpenedRoot): VerifyReport {
  const { blobs, bytes } = storedChildren(root.shape);
  return {
    address: root.address,
    kind: "root",
    blobs: blobs + 1,
    bytes: root.storedBytes + bytes,
    verifiedByServer: false,
  };
}
