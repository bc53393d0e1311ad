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
import { type Row, ADDRESS_AT, decodeRow, encodeRow } from "../format/packs/row.ts";
import { DEPTH_MAX } from "../read/walk.ts";
import type { PackSort } from "../format/packs/pack.ts";
import { ADDRESS_LENGTH, ROW_LENGTH } from "../format/limits.ts";
import type { Snapshot } from "../format/records/snapshot.ts";
import { createHash } from "node:crypto";
import { inPath } from "../read/paths.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";

/** The packs that trees refer to, by numbers, at about 200 bytes each. */
export interface PackTable {
  readonly length: number;
  /** The number of a pack, which is new if it was not seen before. */
  numberOf(row: Row, sort: PackSort): number;
  row(number: number): Row;
  /** Its address, 32 bytes, a view. */
  address(number: number): Uint8Array;
  sortOf(number: number): PackSort;
}

export function packTable(): PackTable {
  const numbers = new Map<Address, number>();
  const sorts: PackSort[] = [];
  let rows = new Uint8Array(ROW_LENGTH * 1024);
  return {
    get length() {
      return sorts.length;
    },
    numberOf(row, sort) {
      const known = numbers.get(row.address);
      if (known !== undefined) return known;
      const number = sorts.push(sort) - 1;
      numbers.set(row.address, number);
      if (rows.length < ROW_LENGTH * sorts.length) {
        const longer = new Uint8Array(2 * rows.length);
        longer.set(rows);
        rows = longer;
      }
      rows.set(encodeRow(row), ROW_LENGTH * number);
      return number;
    },
    address(number) {
      const start = ROW_LENGTH * number + ADDRESS_AT;
      return rows.subarray(start, start + ADDRESS_LENGTH);
    },
    row: (number) => decodeRow(rows.slice(ROW_LENGTH * number, ROW_LENGTH * (number + 1))),
    sortOf: (number) => sorts[number]!,
  };
}

/** What is in a directory and below it. */
interface Totals {
  files: number;
  directories: number;
  bytes: number;
}

/** A directory that was gone through. */
interface KnownDirectory extends Readonly<Totals> {
  /** Numbers of the packs that it refers to itself. */
  readonly packs: Int32Array;
  /** Numbers of the directories in it. */
  readonly children: Int32Array;
  /** Whether it and everything below it could be read. */
  readonly isWhole: boolean;
}

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

/** Directories that are kept from one snapshot to the next, at about 200 bytes each. */
const KEPT_MAX = 2 ** 21;
/** Directories of one snapshot. */
const OF_ONE_MAX = 2 ** 23;

interface Level extends Totals {
  readonly cursor: Cursor | undefined;
  readonly key: string;
  readonly path: Uint8Array;
  readonly packs: Set<number>;
  readonly children: number[];
  isWhole: boolean;
}

export function treeChecker(): TreeChecker {
  const packs = packTable();
  let known = new Map<string, number>();
  let list: KnownDirectory[] = [];
  let total = 0;

  const finish = (level: Level): number => {
    const { key, files, directories, bytes, isWhole } = level;
    const number =
      list.push({
        packs: Int32Array.from(level.packs),
        children: Int32Array.from(level.children),
        files,
        directories,
        bytes,
        isWhole,
      }) - 1;
    known.set(key, number);
    total += 1;
    return number;
  };
  const join = (level: Level, number: number): void => {
    const child = list[number]!;
    level.children.push(number);
    level.files += child.files;
    level.directories += child.directories + 1;
    level.bytes += child.bytes;
    level.isWhole &&= child.isWhole;
  };

  return {
    packs,
    get directories() {
      return total;
    },
    async check(snapshot, tree, findings, signal) {
      if (list.length > KEPT_MAX) [known, list] = [new Map(), []];
      const stack: Level[] = [];

      const fault = async (level: Pick<Level, "path">, error: unknown): Promise<void> => {
        if (!isFaultOfOne(error)) throw error;
        await findings.onFault(level.path, error);
      };
      /** Enters a directory, or takes it as it is known. Returns its number if it is. */
      const enter = async (directory: Directory, path: Uint8Array): Promise<number | undefined> => {
        const key = keyOf(directory);
        const number = known.get(key);
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
          if (stack.length > DEPTH_MAX || list.length + stack.length > OF_ONE_MAX) {
            throw new StorageError("tree", "the tree is too deep, or has too many directories");
          }
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
          continue;
        }
        stack.pop();
        root = finish(top);
        const above = stack.at(-1);
        if (above !== undefined) join(above, root);
      }
      const found = list[root!]!;
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
      return { isWhole: found.isWhole, packs: () => packsBelow(list, root!, packs.length) };
    },
  };
}

/** What makes a directory the same: where its nodes lie, and its tree id. */
function keyOf({ nodes, treeId }: Directory): string {
  const hash = createHash("sha256").update(treeId);
  for (const { row, offset, length, name } of nodes) {
    hash.update(encodeRow(row)).update(`${offset} ${length} ${name.length} `).update(name);
  }
  return hash.digest("latin1").slice(0, 16);
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

function* packsBelow(
  list: readonly KnownDirectory[],
  root: number,
  packCount: number,
): Generator<number> {
  const seenDirectories = new Uint8Array(list.length);
  const seenPacks = new Uint8Array(packCount);
  const pending = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (seenDirectories[next] === 1) continue;
    seenDirectories[next] = 1;
    const { packs, children } = list[next]!;
    for (const pack of packs) {
      if (seenPacks[pack] === 1) continue;
      seenPacks[pack] = 1;
      yield pack;
    }
    for (const child of children) pending.push(child);
  }
}
