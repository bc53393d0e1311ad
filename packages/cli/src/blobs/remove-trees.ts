import type { Address, Store } from "@idk/storage";
import { codeOf } from "../errors/failures.ts";
import type { ItemFailures } from "../errors/item-failures.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { removeTree, type TreeRemoval } from "./remove-tree.ts";
import { createRefusals, runMany } from "./run-many.ts";

/**
 * The removal of several trees, which may share nodes: a tree without one of its nodes cannot be
 * removed. So nodes are removed after the last tree, and those of a tree that stays are kept.
 */
export interface TreesRemoval {
  /** Removes a tree without its nodes, as `removeTree` does. */
  remove(address: Address, removal: TreeRemoval): Promise<void>;
  /**
   * Removes the nodes that no tree needs. If a tree could not be examined, it may need any of them, so
   * none is removed.
   *
   * @param failures those of the trees, too; one that `remove` was not called for was not examined
   * @returns how many it attempted to remove
   */
  removeNodes(failures: ItemFailures): Promise<number>;
  /** Prints the nodes of removed trees that are still there, except those that other trees need. */
  reportLeft(): Promise<void>;
}

export function createTreesRemoval(
  opened: Pick<Store, "deleteTree" | "delete" | "has">,
  session: Session,
): TreesRemoval {
  const { out } = session;
  const left = new Set<Address>();
  const needed = new Set<Address>();
  let examinedAll = true;
  let failed = 0;

  /** Keeps the nodes of a tree that failed, unless its root is gone. */
  const keepNodes = async (
    address: Address,
    nodes: readonly Address[] | undefined,
    rootRemoved: boolean,
  ) => {
    const gone = rootRemoved || (await isGone(opened, address, session.signal));
    for (const node of nodes ?? []) (gone ? left : needed).add(node);
    if (nodes === undefined && !gone) examinedAll = false;
  };
  return {
    async remove(address, removal) {
      let nodes: readonly Address[] | undefined;
      let rootRemoved = false;
      const hooks = {
        onNodes: (found: readonly Address[]): void => void (nodes = found),
        onRootRemoved: (): void => void (rootRemoved = true),
      };
      try {
        await removeTree(opened, address, { ...removal, ...hooks, keptNodes: left }, session);
      } catch (error) {
        failed += 1;
        await keepNodes(address, nodes, rootRemoved);
        throw error;
      }
    },
    async removeNodes(failures) {
      for (const node of needed) left.delete(node);
      if (!examinedAll || failures.count > failed) return 0;
      const remove = async (node: Address, signal: AbortSignal): Promise<void> => {
        await opened.delete(node, { signal });
        left.delete(node);
      };
      const nodes = [...left];
      const options = {
        concurrency: 8,
        nameOf: String,
        onDone() {},
        refusals: createRefusals("item"),
      };
      await runMany(nodes, remove, { ...options, failures }, session);
      return nodes.length;
    },
    async reportLeft() {
      for (const node of needed) left.delete(node);
      if (left.size === 0) return;
      await out.report({ ok: false, notDeleted: [...left] });
      await out.flush();
      if (out.json) return;
      await out.fault(
        `idk: ${count(left.size, "inner blob")} of deleted trees ${left.size === 1 ? "was" : "were"} not ` +
          "deleted. If trees are left, which may share them, delete those first with " +
          "`idk rm --tree`; then pass these to `idk rm`:",
      );
      for (const node of left) await out.fault(`  ${node}`);
    },
  };
}

/** Whether a root is certainly not in the store, so that its tree needs nothing. */
async function isGone(
  opened: Pick<Store, "has">,
  address: Address,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return !(await opened.has(address, { signal }));
  } catch (error) {
    if (codeOf(error) === "unexpected" && !signal.aborted) throw error;
    return false;
  }
}
