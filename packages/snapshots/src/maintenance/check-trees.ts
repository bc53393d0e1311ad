import { type Address, StorageError } from "@idk/storage";
import { type Cursor, cursorOf } from "../read/cursor.ts";
import {
  type Directory,
  type PlacedEntry,
  type PlacedPack,
  type TreeReader,
  directoryOf,
  rootOf,
} from "../read/tree.ts";
import { ENTRY_LEVELS, type ContentItem } from "../format/tree/content.ts";
import { type Row, encodeRow } from "../format/packs/row.ts";
import { DEPTH_MAX } from "../read/walk.ts";
import type { PackSort } from "../format/packs/pack.ts";
import type { Snapshot } from "../format/records/snapshot.ts";
import { createHash } from "node:crypto";
import { KEY_LENGTH, type Totals, directoryTable } from "./directory-table.ts";
import { type PackTable, packTable } from "./pack-table.ts";
import { inPath } from "../read/paths.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";

/** Is told of what is found in directories that were not gone through before. */
export interface TreeFindings {
  /** A directory cannot be read, and so nothing below it. */
  readonly onFault: (path: Uint8Array, error: StorageError) => Promise<void>;
  /** A file refers to a pack. */
  readonly isBad: (pack: Address) => boolean;
  /** A file has a part in a pack that is bad. */
  readonly onFile: (path: Uint8Array, pack: Address) => Promise<void>;
}

/** A tree that was gone through. */
export interface CheckedTree {
  readonly isWhole: boolean;
  /** The numbers of all packs that it needs, each once. */
  packs(): Generator<number>;
}

/** Goes through the trees of snapshots, through directories that several have once. */
export interface TreeChecker {
  readonly packs: PackTable;
  /** Different directories that were gone through. */
  readonly directories: number;
  /** @throws StorageError what the store throws */
  check(
    snapshot: Snapshot,
    tree: TreeReader,
    findings: TreeFindings,
    signal: AbortSignal | undefined,
  ): Promise<CheckedTree>;
}

/** What trees may take, whatever they announce. */
export interface TreeLimits {
  /** Bytes of directories that are kept from one snapshot to the next. */
  readonly kept: number;
  /** Bytes of the directories of one. */
  readonly ofOne: number;
  /** Packs and directories in the directories that are open, which few nodes can multiply. */
  readonly held: number;
  /** Packs that trees refer to: so many, or four for each blob that the store has. */
  readonly packs: number;
}

const LIMITS: TreeLimits = { kept: 2 ** 25, ofOne: 3 * 2 ** 25, held: 2 ** 20, packs: 2 ** 18 };
const PACKS_PER_BLOB = 4;
/** Entries and packs of files between two looks at what all that takes. */
const LOOK_EVERY = 1024;

interface Level extends Totals {
  readonly cursor: Cursor | undefined;
  readonly key: Uint8Array;
  readonly path: Uint8Array;
  readonly packs: Set<number>;
  readonly children: number[];
  isWhole: boolean;
}

/** @param blobCount how many blobs the store has */
export function treeChecker(blobCount: number, limits: TreeLimits = LIMITS): TreeChecker {
  const packs = packTable();
  const packsMax = Math.max(limits.packs, PACKS_PER_BLOB * blobCount);
  const known = directoryTable();
  let total = 0;

  const finish = (level: Level): number => {
    const before = known.length;
    const number = known.add(level.key, level);
    total += known.length - before;
    return number;
  };
  const join = (level: Level, number: number): void => {
    const child = known.totals(number);
    level.children.push(number);
    level.files += child.files;
    level.directories += child.directories + 1;
    level.bytes += child.bytes;
    level.isWhole &&= child.isWhole;
  };
  /** Fails where a tree takes more memory than it should, whatever it announces. */
  const requireRoom = (stack: readonly Level[]): void => {
    const what =
      known.bytes > limits.ofOne
        ? `over ${known.length} directories`
        : packs.length > packsMax
          ? `${packs.length} packs, where the store has ${blobCount} blobs,`
          : stack.reduce((sum, level) => sum + level.packs.size + level.children.length, 0) >
              limits.held
            ? "too many packs and directories in directories that are in each other"
            : undefined;
    if (what === undefined) return;
    throw new NoRoom("limit", `the tree has ${what} and is not checked`);
  };

  const checkTree = async (
    snapshot: Snapshot,
    tree: TreeReader,
    findings: TreeFindings,
    signal: AbortSignal | undefined,
  ): Promise<CheckedTree> => {
    const stack: Level[] = [];
    let looks = 0;
    const look = (): void => {
      looks += 1;
      if (looks % LOOK_EVERY === 0) requireRoom(stack);
    };

    const fault = async (level: Pick<Level, "path">, error: unknown): Promise<void> => {
      if (!isFaultOfOne(error) || error instanceof NoRoom) throw error;
      await findings.onFault(level.path, error);
    };
    /** Enters a directory, or takes it as it is known. Returns its number if it is. */
    const enter = async (directory: Directory, path: Uint8Array): Promise<number | undefined> => {
      const key = keyOf(directory);
      const number = known.find(key);
      if (number !== undefined) return number;
      const level: Level = {
        cursor: undefined,
        key,
        path,
        packs: new Set(directory.nodes.map(({ row }) => packs.numberOf(row, "meta"))),
        children: [],
        files: 0,
        directories: 0,
        bytes: 0,
        isWhole: true,
      };
      try {
        if (stack.length > DEPTH_MAX) throw new StorageError("tree", "the tree is too deep");
        stack.push({ ...level, cursor: await cursorOf(tree, directory, signal) });
      } catch (error) {
        await fault(level, error);
        return finish({ ...level, isWhole: false });
      }
      return undefined;
    };
    const visit = async (level: Level, placed: PlacedEntry): Promise<void> => {
      const { entry } = placed;
      const path = inPath(level.path, entry.name);
      if (entry.type === "directory") {
        const number = await enter(directoryOf({ entry, pack: placed.pack }), path);
        if (number !== undefined) join(level, number);
        return;
      }
      level.files += 1;
      if (entry.type !== "file") return;
      level.bytes += entry.size;
      let bad: Address | undefined;
      const refer = (row: Row, sort: PackSort) => {
        level.packs.add(packs.numberOf(row, sort));
        look();
        if (bad === undefined && findings.isBad(row.address)) bad = row.address;
      };
      try {
        await referTo(tree, entry.content, placed.pack, ENTRY_LEVELS, refer, signal);
      } catch (error) {
        level.isWhole = false;
        await fault({ path }, error);
      }
      if (bad !== undefined) await findings.onFile(path, bad);
    };

    const whole = await enter(rootOf(snapshot), new Uint8Array(0));
    let root = whole;
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      let placed: PlacedEntry | undefined;
      try {
        placed = await top.cursor!.current(signal);
      } catch (error) {
        await fault(top, error);
        top.isWhole = false;
      }
      if (placed !== undefined) {
        top.cursor!.advance();
        await visit(top, placed);
        look();
        continue;
      }
      stack.pop();
      root = finish(top);
      const above = stack.at(-1);
      if (above !== undefined) join(above, root);
    }
    requireRoom(stack);
    const found = known.totals(root!);
    const { totals } = snapshot;
    const isAnnounced =
      found.files === totals.files &&
      found.directories === totals.directories &&
      found.bytes === totals.bytes;
    if (found.isWhole && !isAnnounced) {
      const text =
        "the snapshot has other numbers of files, directories or bytes than it announces";
      await findings.onFault(new Uint8Array(0), new StorageError("tree", text));
    }
    return { isWhole: found.isWhole, packs: () => known.packsBelow(root!, packs.length) };
  };

  return {
    packs,
    get directories() {
      return total;
    },
    async check(snapshot, tree, findings, signal) {
      if (known.bytes > limits.kept) known.truncate(0);
      const before = { directories: known.length, packs: packs.length, total };
      try {
        return await checkTree(snapshot, tree, findings, signal);
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error;
        // So that there is room for the next one.
        known.truncate(before.directories);
        packs.truncate(before.packs);
        total = before.total;
        await findings.onFault(new Uint8Array(0), error);
        return { isWhole: false, packs: function* none() {} };
      }
    },
  };
}

/** A tree that takes more memory than it should. */
class NoRoom extends StorageError {}

/** What makes a directory the same: where its nodes lie, and its tree id. */
function keyOf({ nodes, treeId }: Directory): Uint8Array {
  const hash = createHash("sha256").update(treeId);
  for (const { row, offset, length, name } of nodes) {
    hash.update(encodeRow(row)).update(`${offset} ${length} ${name.length} `).update(name);
  }
  return hash.digest().subarray(0, KEY_LENGTH);
}

/** The packs of a file, those of its piece lists included. */
async function referTo(
  tree: TreeReader,
  content: readonly ContentItem[],
  pack: PlacedPack,
  levels: number,
  refer: (row: Row, sort: PackSort) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const item of content) {
    if (item.kind === "hole") continue;
    const row = pack.rowOf(item.row);
    if (item.kind === "piece") {
      refer(row, "data");
      continue;
    }
    refer(row, "meta");
    const list = await tree.list(item, pack, levels - 1, signal);
    await referTo(tree, list.content, list.pack, levels - 1, refer, signal);
  }
}
