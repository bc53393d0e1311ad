import type { ReadOptions } from "../options.ts";
import { type StoreContext, concurrencyOf } from "../context.ts";
import { type Child, allLeaves, walk } from "./walk.ts";
import { pMapIterable } from "p-map";
import { readRoot } from "../read/read-root.ts";
import { usage } from "../../errors.ts";

export interface DeleteTreeOptions extends ReadOptions {
  /** Go ahead although chunks may be shared. */
  readonly force?: boolean | undefined;
  /** Told after each blob that was removed, the root first, how many that makes. */
  readonly onProgress?: ((progress: DeleteReport) => void) | undefined;
}

export interface DeleteReport {
  /** Blobs that were asked to be removed, the root included. */
  readonly blobs: number;
}

/**
 * Removes a root and its tree; see `Store.deleteTree`. The root goes first: whatever interrupts
 * the rest leaves chunks that nothing refers to, never a root with chunks missing.
 */
export async function deleteTree(
  context: StoreContext,
  address: string,
  options: DeleteTreeOptions,
): Promise<DeleteReport> {
  if (context.deduplicates() && !options.force) {
    throw usage(
      "this store deduplicates: other roots may share these chunks and would lose them. " +
        "Delete the root alone, or force it if nothing else was written with the same secret",
    );
  }
  const { backend } = context;
  const { signal, onProgress } = options;
  let removed = 0;
  const removeOne = async (address: string): Promise<void> => {
    await backend.delete(address, { signal });
    removed += 1;
    onProgress?.({ blobs: removed });
  };
  const root = await readRoot(context, address, options);
  const everything = () => walk(context, root, allLeaves(root.shape), signal);

  // Nodes are opened before anything goes, and go last: without them nobody finds the leaves.
  const nodes = new Set<string>();
  if (root.shape.counts.length > 1) {
    for await (const { level, reference } of everything()) {
      if (level > 1) nodes.add(reference.address);
    }
  }
  await removeOne(root.address);
  const remove = async ({ level, reference }: Child) => {
    if (level === 1) await removeOne(reference.address);
  };
  const concurrency = concurrencyOf(context.defaults, undefined);
  let blobs = 1;
  for await (const _ of pMapIterable(everything(), remove, { concurrency })) blobs += 1;
  for (const node of nodes) await removeOne(node);
  return { blobs };
}
