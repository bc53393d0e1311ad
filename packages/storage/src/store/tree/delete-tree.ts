import { type Address, parseAddress } from "../../crypto/address.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import { type Child, allLeaves, walk } from "./walk.ts";
import type { CallOptions } from "../../backend/backend.ts";
import type { ReadOptions } from "../options.ts";
import { linkedAbort } from "../../abort.ts";
import type { Reference } from "../../format/tree.ts";
import { StorageError, usage } from "../../errors.ts";
import type { StoreContext } from "../context.ts";
import { CALLS_MAX } from "../flow/controller.ts";
import { CHUNKS_AT_ONCE } from "../check-options.ts";
import type { Measuring } from "../flow/measuring.ts";
import { CALL_MEMORY } from "../flow/window.ts";
import { commitmentOf } from "../../crypto/key-schedule.ts";
import { decodeChildHeader, splitEnvelope } from "../../format/envelope.ts";
import { equal } from "../../bytes.ts";
import { readRange } from "../read/fetch.ts";
import { readRoot } from "../read/read-root.ts";

/** Options of `deleteTree`. */
export interface DeleteTreeOptions extends ReadOptions {
  /** Delete even if chunks may be shared. */
  readonly force?: boolean | undefined;
  /**
   * Called once, before anything is deleted, with what the tree refers to: anyone who knows a
   * recipient can write a root that refers to a great many blobs. If it returns false, nothing is
   * deleted and the call fails with `usage`; an error that it throws is passed on unchanged. To ask
   * a person only above some number, return true for a smaller plan. By default nothing is asked.
   */
  readonly confirm?: ((plan: DeletePlan) => boolean | Promise<boolean>) | undefined;
  /**
   * Collects the nodes of the tree, which are then not deleted and not in the report. Trees may share
   * nodes, as those of `rewrap` do, and a tree without one of its nodes cannot be deleted. To delete
   * several trees, pass all calls the same set, and then `delete` each address in it except the
   * `nodes` of trees whose roots were not deleted. By default, the nodes are deleted with the tree.
   */
  readonly keptNodes?: Set<Address> | undefined;
  /** Called after each deleted blob, the root first, with the report so far. */
  readonly onProgress?: ((progress: DeleteReport) => void) | undefined;
  /** Called for each blob that the tree refers to but that is not deleted. */
  readonly onSkipped?: ((skipped: SkippedBlob) => void) | undefined;
}

/** What `deleteTree` is about to delete. */
export interface DeletePlan {
  /** The most blobs that will be deleted: distinct ones, including the root. */
  readonly blobs: number;
  /** The nodes of the tree: the distinct blobs between the root and the chunks. */
  readonly nodes: readonly Address[];
}

/** What `deleteTree` has done. */
export interface DeleteReport {
  /** Distinct blobs deleted, including the root, and chunks that were already gone; no `keptNodes`. */
  readonly blobs: number;
  /** Distinct blobs that the tree refers to and that were not deleted; see `onSkipped`. */
  readonly skipped: number;
}

/** A blob that a tree refers to without having its key: it belongs to something else. */
export interface SkippedBlob {
  readonly address: Address;
  /**
   * - `not-a-chunk`: it is a root, or its stored bytes are not a blob.
   * - `other-key`: it is a chunk sealed under another key than the tree has for it.
   */
  readonly reason: "not-a-chunk" | "other-key";
}

/**
 * Deletes a root and its tree; see `Store.deleteTree`. The root is deleted first, so that an
 * interruption leaves unreferenced chunks, never a root with chunks missing.
 *
 * The root may be forged: anyone with a recipient's public key can write one that refers to any
 * blobs. What proves that a blob belongs to the tree is that the tree has its key. A node proves it
 * by being opened. For a leaf its header is enough, which commits to the key.
 */
export async function deleteTree(
  context: StoreContext,
  address: string,
  options: DeleteTreeOptions,
): Promise<DeleteReport> {
  if (context.deduplicates() && !options.force) {
    throw usage(
      "this store deduplicates: other roots may share these chunks and would lose them. " +
        "Delete only the root, or use force if nothing else was stored with the same secret",
    );
  }
  const { backend } = context;
  const { signal, confirm, keptNodes, onProgress, onSkipped } = options;
  const report = { blobs: 0, skipped: 0 };
  const count = (): void => {
    report.blobs += 1;
    onProgress?.({ ...report });
  };
  const deleteOne = async (address: string, given: CallOptions = { signal }): Promise<void> => {
    await backend.delete(address, given);
    count();
  };
  const root = await readRoot(context, address, options);

  // Each blob is visited once, however often it is referred to: a few blobs can hold billions of
  // references. Nodes are opened before anything is deleted, and deleted last, because walking to
  // the leaves fetches them again.
  const left = new Set<string>();
  const nodes: Address[] = [];
  const all = allLeaves(root.shape);
  for await (const { level, reference } of walk(context, root, all, signal, isNew)) {
    left.add(reference.address);
    if (level > 1) nodes.push(parseAddress(reference.address));
  }
  function isNew({ reference }: Child): boolean {
    return !left.has(reference.address);
  }
  if (confirm && !(await confirm({ blobs: left.size + 1, nodes: [...nodes] }))) {
    throw usage(`deleting the tree ${root.address} was not confirmed: nothing was deleted`);
  }

  async function* leaves(): AsyncGenerator<Reference> {
    const isLeft = (child: Child): boolean => !isNew(child);
    for await (const { level, reference } of walk(context, root, all, signal, isLeft)) {
      if (left.delete(reference.address) && level === 1) yield reference;
    }
  }
  const deleteLeaf = async (reference: Reference, given: CallOptions): Promise<void> => {
    const proof = await proofOf(context, reference, given);
    if (proof === "owned") await deleteOne(reference.address, given);
    else if (proof === "gone") count();
    else {
      report.skipped += 1;
      onSkipped?.({ address: parseAddress(reference.address), reason: proof });
    }
  };
  await deleteOne(root.address);
  await deleteLeaves();
  async function deleteLeaves(): Promise<void> {
    const { signal: own, stop } = linkedAbort(signal);
    const inFlight = new Set<Promise<void>>();
    const deleteMeasured = async (leaf: Reference, { measure, retry }: Measuring) => {
      const given = { signal: own, onRetry: retry };
      const deleting = measure(
        () => deleteLeaf(leaf, given),
        () => 0,
      );
      inFlight.add(deleting);
      await deleting;
      inFlight.delete(deleting);
    };
    // Without ranges, the whole of each chunk is read.
    const most = context.defaults.concurrency ?? (backend.getRange ? CALLS_MAX : CHUNKS_AT_ONCE);
    const limits = { most, itemBytes: CALL_MEMORY, signal: own };
    try {
      for await (const _ of context.flows.requests.map(leaves(), deleteMeasured, limits));
    } finally {
      stop();
      // Nothing is being deleted, and no progress reported, once this call has failed.
      await Promise.allSettled(inFlight);
    }
  }
  for (const node of nodes) {
    if (keptNodes === undefined) await deleteOne(node);
    else keptNodes.add(node);
  }
  return { ...report };
}

/** Whether the stored blob is a leaf of the tree that has this reference. */
async function proofOf(
  { backend }: StoreContext,
  { address, contentKey }: Reference,
  options: CallOptions,
): Promise<"owned" | "gone" | SkippedBlob["reason"]> {
  const start = new Uint8Array(CHILD_OVERHEAD);
  try {
    const length = await readRange(backend, address, 0, start, options);
    // The prefix of a root is longer than this, so its header is cut off here.
    const { commitment } = decodeChildHeader(splitEnvelope(start.subarray(0, length)).header);
    return equal(commitment, commitmentOf(contentKey)) ? "owned" : "other-key";
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === "not-found") return "gone";
    if (error.code === "format" || error.code === "limit") return "not-a-chunk";
    throw error;
  }
}
