import { type Address, type DeleteTreeOptions, StorageError, type Store } from "@idk/storage";
import { expect, test } from "bun:test";
import { createTreesRemoval } from "../../src/blobs/remove-trees.ts";
import type { ItemFailures } from "../../src/errors/item-failures.ts";
import type { Output } from "../../src/output/output.ts";
import { createProgress } from "../../src/progress/meter.ts";
import type { Session } from "../../src/session.ts";

const address = (digit: string): Address => digit.repeat(64) as Address;
const [A, B, OWN, SHARED, OF_B] = ["a", "b", "c", "d", "e"].map(address) as [
  Address,
  Address,
  Address,
  Address,
  Address,
];
/** Nodes by root. */
const TREES: Readonly<Record<string, readonly Address[]>> = {
  [A]: [OWN, SHARED],
  [B]: [SHARED, OF_B],
};

/** How removing a tree fails: before its nodes are known, after that, or with its root removed. */
type Fault = "unexamined" | "examined" | "half" | "gone";

/** Removes A, which succeeds, and B, which fails. */
async function removeBoth(fault: Fault | undefined, refused?: Address, order = [A, B]) {
  const deleted: string[] = [];
  const printed: string[] = [];
  const reports: unknown[] = [];
  const ignore = async (): Promise<void> => {};
  const fail = (at: Fault): void => {
    if (fault === at) throw new StorageError("unavailable", "busy");
  };
  const opened = {
    has: async () => fault !== "gone",
    async deleteTree(root: string, { keptNodes, confirm, onProgress }: DeleteTreeOptions) {
      const failing = root === B;
      if (failing && fault === "gone") throw new StorageError("not-found", "no blob");
      if (failing) fail("unexamined");
      await confirm?.({ blobs: 9, nodes: TREES[root]! });
      if (failing) fail("examined");
      deleted.push(root);
      onProgress?.({ blobs: 1, skipped: 0 });
      if (failing) fail("half");
      for (const node of TREES[root]!) keptNodes?.add(node);
      return { blobs: 1, skipped: 0 };
    },
    async delete(node: string) {
      if (node === refused) throw new StorageError("unavailable", "busy");
      deleted.push(node);
    },
  } as unknown as Store;
  const out = {
    json: false,
    report: async (json: unknown) => void reports.push(json),
    note: ignore,
    flush: ignore,
    fault: async (text: string) => void printed.push(text),
  } as unknown as Output;
  const { signal } = new AbortController();
  const session = { out, signal, progress: createProgress(undefined) } as unknown as Session;
  const trees = createTreesRemoval(opened, session);
  const removal = { force: false, askAbove: Infinity, printAddress: true };
  let failed = 0;
  for (const root of order) await trees.remove(root, removal).catch(() => void (failed += 1));
  let notFound = 0;
  const failures = {
    add: async () => void (failed += 1),
    get count() {
      return failed + notFound;
    },
  } as unknown as ItemFailures;
  return {
    failed: () => failed,
    /** As if the list had an entry that is not in the store. */
    failToFind: () => void (notFound += 1),
    deleted,
    printed,
    lists: () => reports.filter((report) => Object.hasOwn(report as object, "notDeleted")),
    end: async () => {
      const attempted = await trees.removeNodes(failures);
      await trees.reportLeft();
      return attempted;
    },
    trees,
  };
}

test.each<[fault: Fault | undefined, order: Address[], deleted: Address[]]>([
  [undefined, [A, B], [A, B, OWN, SHARED, OF_B]],
  ["examined", [A, B], [A, OWN]],
  ["examined", [B, A], [A, OWN]],
  ["half", [A, B], [A, B, OWN, SHARED, OF_B]],
  ["gone", [A, B], [A, OWN, SHARED]],
])("nodes of a tree that stays are kept: %p, %p", async (fault, order, expected) => {
  const { end, deleted, printed, lists, failed } = await removeBoth(fault, undefined, order);
  expect(await end()).toBe(expected.filter((blob) => blob !== A && blob !== B).length);
  expect(deleted).toEqual(expected);
  expect(printed).toEqual([]);
  expect(lists()).toEqual([]);
  expect(failed()).toBe(fault === undefined ? 0 : 1);
});

test("all nodes are kept and listed if those of a tree are not known", async () => {
  const { end, deleted, printed, lists } = await removeBoth("unexamined");
  expect(await end()).toBe(0);
  expect(deleted).toEqual([A]);
  expect(lists()).toEqual([{ ok: false, notDeleted: [OWN, SHARED] }]);
  expect(printed).toEqual([
    "idk: 2 inner blobs of deleted trees were not deleted. If trees are left, which may share them, " +
      "delete those first with `idk rm --tree`; then pass these to `idk rm`:",
    `  ${OWN}`,
    `  ${SHARED}`,
  ]);
});

test("all nodes are kept and listed if an entry of the list was not found", async () => {
  const { end, deleted, lists, failToFind } = await removeBoth(undefined);
  failToFind();
  expect(await end()).toBe(0);
  expect(deleted).toEqual([A, B]);
  expect(lists()).toEqual([{ ok: false, notDeleted: [OWN, SHARED, OF_B] }]);
});

test("the nodes of a tree that was half deleted are listed", async () => {
  const { lists, trees } = await removeBoth("half");
  await trees.reportLeft();
  expect(lists()).toEqual([{ ok: false, notDeleted: [OWN, SHARED, OF_B] }]);
});

test("nodes that could not be removed, or were not attempted, are listed", async () => {
  const refused = await removeBoth(undefined, OWN);
  expect(await refused.end()).toBe(3);
  expect(refused.failed()).toBe(1);
  expect(refused.lists()).toEqual([{ ok: false, notDeleted: [OWN] }]);
  // Interrupted between the trees.
  const stopped = await removeBoth(undefined, undefined, [A]);
  await stopped.trees.reportLeft();
  expect(stopped.lists()).toEqual([{ ok: false, notDeleted: [OWN, SHARED] }]);
});
