import type { ReadOptions } from "../options.ts";
import { checkConcurrency } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { type Child, allLeaves, walk } from "./walk.ts";
import { pMapIterable } from "p-map";
import { readRoot } from "../read/read-root.ts";
import { usage } from "../../errors.ts";

export interface DeleteTreeOptions extends ReadOptions {
  /** Delete even if chunks may be shared. */
  readonly force?: boolean | undefined;
  /** Called after each deleted blob, the root first, with the number deleted so far. */
  readonly onProgress?: ((progress: DeleteReport) => void) | undefined;
}

export interface DeleteReport {
  /** Blobs deleted, including the root. */
  readonly blobs: number;
}

/**
 * Deletes a root and its tree; see `Store.deleteTree`. The root is deleted first, so that an
 * interruption leaves unreferenced chunks, never a root with chunks missing.
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
  let deleted = 0;
  const deleteOne = async (address: string): Promise<void> => {
    await backend.delete(address, { signal });
    deleted += 1;
    onProgress?.({ blobs: deleted });
  };
  const root = await readRoot(context, address, options);
  const everything = () => walk(context, root, allLeaves(root.shape), signal);

  // Nodes are opened before anything is deleted, and deleted last, because walking to the
  // leaves fetches them again.
  const nodes = new Set<string>();
  if (root.shape.depth > 1) {
    for await (const { level, reference } of everything()) {
      if (level > 1) nodes.add(reference.address);
    }
  }
  await deleteOne(root.address);
  const deleteLeaf = async ({ level, reference }: Child) => {
    if (level === 1) await deleteOne(reference.address);
  };
  const concurrency = checkConcurrency(context.defaults, undefined);
  let blobs = 1;
  for await (const _ of pMapIterable(everything(), deleteLeaf, { concurrency })) blobs += 1;
  for (const node of nodes) await deleteOne(node);
  return { blobs };
}
