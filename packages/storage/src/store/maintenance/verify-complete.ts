import type { Address } from "../../crypto/address.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import { type Child, allLeaves, walk } from "../tree/walk.ts";
import { StorageError } from "../../errors.ts";
import type { StoreContext } from "../context.ts";
import type { VerifyOptions, VerifyReport } from "./verify-options.ts";
import { CALLS_MAX } from "../flow/controller.ts";
import type { Measuring } from "../flow/measuring.ts";
import { CALL_MEMORY } from "../flow/window.ts";
import { checkConcurrency } from "../check-options.ts";
import { inTurn } from "../../queue.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";
import { plaintextLength } from "../../format/tree.ts";
import { readRootInTurn } from "../read/read-root.ts";
import { wrongLength } from "../read/fetch.ts";

/** Whether a tree has all of its blobs, without downloading a leaf; see `VerifyOptions.complete`. */
export async function verifyComplete(
  context: StoreContext,
  text: string,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const { backend } = context;
  const most = checkConcurrency(options.concurrency) ?? context.defaults.concurrency ?? CALLS_MAX;
  const root = await readRootInTurn(context, text, options);
  const { shape } = root;

  const storedLength = ({ level, index }: Child): number =>
    CHILD_OVERHEAD + plaintextLength(shape, level, index);
  // Each blob is visited once for each level and length that the tree requires of it: a few blobs can
  // hold billions of references.
  const seen = new Set<string>();
  const isNew = (child: Child): boolean => {
    const key = `${child.level} ${child.reference.address} ${storedLength(child)}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  };
  let [blobs, bytes] = [1, root.storedBytes];
  const completeness = { chunks: 0, verifiedByServer: 0 };
  let read = 0;
  const checkChildren = async (signal: AbortSignal): Promise<void> => {
    const capabilities = await backend.capabilities?.({ signal });
    const verifiesChecksums = capabilities?.verifiesChecksums === true;
    const checkChild = async (child: Child, onRetry: () => void): Promise<void> => {
      const length = storedLength(child);
      blobs += 1;
      bytes += length;
      // The walk has downloaded and opened the nodes.
      if (child.level > 1) return;
      const { address } = child.reference;
      const info = await backend.head(address, { signal, onRetry });
      // No progress is reported once this call has failed.
      throwIfAborted(signal);
      if (info === undefined) throw missing(address, root.address);
      if (info.size !== length) throw wrongLength("leaf", address);
      if (verifiesChecksums && info.sha256 !== undefined) {
        if (info.sha256 !== address) throw otherBytes(address);
        completeness.verifiedByServer += 1;
      }
      completeness.chunks += 1;
      read += plaintextLength(shape, child.level, child.index);
      const done = Math.min(read, root.contentLength);
      options.onProgress?.({ bytes: done, total: root.contentLength, chunks: completeness.chunks });
    };
    const children = walk(context, root, allLeaves(shape), signal, isNew);
    const check = (child: Child, { measure, retry }: Measuring) =>
      child.level > 1
        ? checkChild(child, retry)
        : measure(
            () => checkChild(child, retry),
            () => 0,
          );
    const limits = { most, itemBytes: CALL_MEMORY, signal };
    for await (const _ of context.flows.requests.map(children, check, limits));
  };
  if (shape.depth > 0) {
    const { signal, stop } = linkedAbort(options.signal);
    try {
      await inTurn(context.queueTree, () => checkChildren(signal), signal);
    } finally {
      stop();
    }
  }
  return {
    address: root.address,
    kind: "root",
    blobs,
    bytes,
    verifiedByServer:
      completeness.chunks > 0 && completeness.verifiedByServer === completeness.chunks,
    completeness,
  };
}

function missing(leaf: string, root: Address): StorageError {
  return new StorageError("not-found", `the store has no blob ${leaf}, a chunk of ${root}`);
}

function otherBytes(leaf: string): StorageError {
  return new StorageError(
    "address",
    `the store reports the checksum of other bytes for ${leaf}: they are damaged or replaced`,
  );
}
