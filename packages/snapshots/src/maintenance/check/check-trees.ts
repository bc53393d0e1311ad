import { type Address, StorageError } from "@idk/storage";
import { type Cursor, cursorOf } from "../../read/cursor.ts";
import {
  type Directory,
  type PlacedEntry,
  type PlacedPack,
  type TreeReader,
  directoryOf,
  rootOf,
} from "../../read/tree.ts";
import { ENTRY_LEVELS, type ContentItem, type PieceList } from "../../format/tree/content.ts";
import { type Row, encodeRow } from "../../format/packs/row.ts";
import { DEPTH_MAX } from "../../read/walk.ts";
import type { Snapshot } from "../../format/records/snapshot.ts";
import {
  type CheckedDirectory,
  KEY_LENGTH,
  type Totals,
  directoryTable,
} from "./directory-table.ts";
import { hash, startHash, utf8 } from "@idk/storage/blobs";
import { keyTable } from "./key-table.ts";
import { type PackTable, packTable } from "./pack-table.ts";
import { inPath } from "../../read/paths.ts";
import { isFaultForNow } from "../../repository/find-heads.ts";
import { throwIfAborted } from "../../read/aborted.ts";

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

/** Goes through the trees of snapshots, through directories and piece lists that several have once. */
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
  /** Bytes of the directories and piece lists of one that are not kept already. */
  readonly ofOne: number;
  /**
   * Packs and directories in the directories that are open, which few nodes can multiply: so many, or two for
   * each blob that the store has. At up to 80 bytes each, they take no more than the packs.
   */
  readonly held: number;
  /** Packs that trees refer to: so many, or four for each blob that the store has. */
  readonly packs: number;
}

const LIMITS: TreeLimits = { kept: 2 ** 25, ofOne: 3 * 2 ** 25, held: 2 ** 20, packs: 2 ** 18 };
const PACKS_PER_BLOB = 4;
const HELD_PER_BLOB = 2;
/** A `Set` of V8 has at most 2^24. */
const HELD_MAX = 2 ** 24 - 2 ** 16;
/** Entries, and packs of files, after which the memory in use and the signal are looked at again. */
const LOOK_EVERY = 1024;

/** What is wrong with the content of a file, or with a piece list. */
interface ContentFault {
  /** One of the packs that are bad. */
  readonly bad?: Address | undefined;
  /** Why it could not be gone through to its end. */
  readonly error?: StorageError;
}
/** Bytes of memory that the fault of a list takes. */
const FAULT_COST = 512;
/** Of a number in a set. */
const OWN_COST = 32;
const NOTHING: Totals = { files: 0, directories: 0, bytes: 0 };
/**
 * What is wrong with the store, whichever snapshot asks. Anything else may be the fault of the snapshot: it
 * has the wrong key of a session, or reaches a directory by too many others.
 */
const OF_STORE: ReadonlySet<string> = new Set(["not-found", "address"]);

interface Level extends Totals {
  readonly cursor: Cursor | undefined;
  readonly key: Uint8Array;
  readonly path: Uint8Array;
  readonly packs: Set<number>;
  readonly children: number[];
  /** Numbers of the piece lists of its files. */
  readonly lists: Set<number>;
  isWhole: boolean;
  /** Whether what is missing may be there in other snapshots. */
  isOwn: boolean;
  /** Whether its entries could be read to the end. */
  isRead: boolean;
  /** Whether its files were told of before: it is gone through again. */
  readonly hasTold: boolean;
}

/** @param blobCount how many blobs the store has */
export function treeChecker(blobCount: number, limits: TreeLimits = LIMITS): TreeChecker {
  const packs = packTable();
  const packsMax = Math.max(limits.packs, PACKS_PER_BLOB * blobCount);
  const heldMax = Math.min(HELD_MAX, Math.max(limits.held, HELD_PER_BLOB * blobCount));
  /** Piece lists, too: they refer to packs and lists as directories do to packs and directories. */
  const known = directoryTable();
  let faultyLists = new Map<number, ContentFault>();
  /** Directories that were counted, and faults that were told: some directories are gone through again. */
  const told = keyTable(KEY_LENGTH);
  let total = 0;
  let snapshots = 0;
  /** Those of the snapshot at hand that others may be able to go through. */
  let own = new Set<number>();

  const bytesKnown = (): number =>
    known.bytes + told.bytes + own.size * OWN_COST + faultyLists.size * FAULT_COST;
  const isNew = (...about: readonly (Uint8Array | string)[]): boolean => {
    const { length } = told;
    return told.add(digestOf(...about)) === length;
  };
  // What only this snapshot cannot read has another key, so that others find nothing and read it again.
  const inThis = (key: Uint8Array): Uint8Array => digestOf("snapshot", String(snapshots), key);
  const find = (key: Uint8Array): number | undefined => known.find(key) ?? known.find(inThis(key));
  const add = (key: Uint8Array, directory: CheckedDirectory, isOwn: boolean): number => {
    const number = known.add(isOwn ? inThis(key) : key, directory);
    if (isOwn) own.add(number);
    return number;
  };
  const finish = (level: Level): number => {
    const counted = digestOf("directory", level.key);
    const wasCounted = known.find(level.key) !== undefined || told.find(counted) !== undefined;
    if (!wasCounted) total += 1;
    if (level.isOwn) {
      told.add(counted);
      if (level.isRead) told.add(digestOf("files", level.key));
    }
    return add(level.key, { ...level, children: joined(level) }, level.isOwn);
  };
  const join = (level: Level, number: number): void => {
    const child = known.totals(number);
    level.children.push(number);
    level.files += child.files;
    level.directories += child.directories + 1;
    level.bytes += child.bytes;
    level.isWhole &&= child.isWhole;
    level.isOwn ||= own.has(number);
  };
  const truncate = (length: number): void => {
    known.truncate(length);
    if (length === 0) told.truncate(0);
    faultyLists = new Map([...faultyLists].filter(([number]) => number < length));
  };
  /** Fails where a tree takes more memory than it should, whatever it announces. */
  const requireRoom = (stack: readonly Level[], bytesBefore: number): void => {
    const bytes = bytesKnown() - bytesBefore;
    const held = stack.reduce((sum, level) => sum + heldBy(level), 0);
    const restore = "restore with dryRun (idk restore --dry-run) goes through all of them";
    const what =
      bytes > limits.ofOne
        ? `more directories than fit the memory of check, about a million; ${restore}`
        : packs.length > packsMax
          ? `${packs.length} packs, and the store has ${blobCount} blobs`
          : held > heldMax
            ? `${held} packs and directories directly in one directory and those above it, and the store has ` +
              `${blobCount} blobs; ${restore}`
            : undefined;
    if (what === undefined) return;
    throw new NoRoom("limit", `the tree is not checked, because it has ${what}`);
  };

  const checkTree = async (
    snapshot: Snapshot,
    tree: TreeReader,
    findings: TreeFindings,
    signal: AbortSignal | undefined,
  ): Promise<CheckedTree> => {
    const stack: Level[] = [];
    const bytesBefore = bytesKnown();
    let looks = 0;
    const look = async (): Promise<void> => {
      looks += 1;
      if (looks % LOOK_EVERY !== 0) return;
      requireRoom(stack, bytesBefore);
      // All that is read may be in memory, and then nothing else has a turn, nor does a signal fire.
      await new Promise<void>((resolve) => setImmediate(resolve));
      throwIfAborted(signal);
    };

    const fault = async (
      level: Pick<Level, "key" | "isWhole" | "isOwn">,
      path: Uint8Array,
      error: unknown,
    ): Promise<void> => {
      if (!isFaultForNow(error) || error instanceof NoRoom) throw error;
      level.isWhole = false;
      level.isOwn ||= !OF_STORE.has(error.code);
      if (isNew("fault", level.key, error.code, path)) await findings.onFault(path, error);
    };
    /** Enters a directory, or takes it as it is known. Returns its number if it is. */
    const enter = async (directory: Directory, path: Uint8Array): Promise<number | undefined> => {
      const key = keyOf(directory);
      const number = find(key);
      if (number !== undefined) return number;
      const level: Level = {
        cursor: undefined,
        key,
        path,
        packs: new Set(directory.nodes.map(({ row }) => packs.numberOf(row, "meta"))),
        children: [],
        lists: new Set(),
        files: 0,
        directories: 0,
        bytes: 0,
        isWhole: true,
        isOwn: false,
        isRead: true,
        hasTold: told.find(digestOf("files", key)) !== undefined,
      };
      try {
        if (stack.length > DEPTH_MAX) throw new StorageError("tree", "the tree is too deep");
        stack.push({ ...level, cursor: await cursorOf(tree, directory, signal) });
      } catch (error) {
        level.isRead = false;
        await fault(level, path, error);
        return finish(level);
      }
      return undefined;
    };
    /** Adds the packs and piece lists of a file, or of a list, as far as they can be read. */
    const referTo = async (
      into: Pick<Level, "packs" | "lists">,
      content: readonly ContentItem[],
      pack: PlacedPack,
      levels: number,
    ): Promise<ContentFault> => {
      let bad: Address | undefined;
      for (const item of content) {
        if (item.kind === "hole") continue;
        const row = pack.rowOf(item.row);
        into.packs.add(packs.numberOf(row, item.kind === "list" ? "meta" : "data"));
        if (bad === undefined && findings.isBad(row.address)) bad = row.address;
        await look();
        if (item.kind !== "list") continue;
        const below = await referToList(into, item, pack, levels - 1);
        bad ??= below.bad;
        if (below.error !== undefined) return { bad, error: below.error };
      }
      return { bad };
    };
    /** Adds a piece list, and goes through it unless it is known. */
    const referToList = async (
      into: Pick<Level, "lists">,
      list: PieceList,
      from: PlacedPack,
      levels: number,
    ): Promise<ContentFault> => {
      const key = keyOfList(list, from.rowOf(list.row), levels);
      let number = find(key);
      if (number === undefined) {
        const below = { packs: new Set<number>(), lists: new Set<number>() };
        let found: ContentFault;
        try {
          const { content, pack } = await tree.list(list, from, levels, signal);
          found = await referTo(below, content, pack, levels);
        } catch (error) {
          if (!isFaultForNow(error) || error instanceof NoRoom) throw error;
          found = { error };
        }
        const isWhole = found.error === undefined;
        const { packs: referred, lists: children } = below;
        const isOwn = found.error !== undefined && !OF_STORE.has(found.error.code);
        number = add(key, { ...NOTHING, packs: referred, children, isWhole }, isOwn);
        if (!isWhole || found.bad !== undefined) faultyLists.set(number, found);
      }
      into.lists.add(number);
      return faultyLists.get(number) ?? {};
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
      const { bad, error } = await referTo(level, entry.content, placed.pack, ENTRY_LEVELS);
      if (error !== undefined) await fault(level, path, error);
      if (bad !== undefined && !level.hasTold) await findings.onFile(path, bad);
    };

    const whole = await enter(rootOf(snapshot), new Uint8Array(0));
    let root = whole;
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      let placed: PlacedEntry | undefined;
      try {
        placed = await top.cursor!.current(signal);
      } catch (error) {
        top.isRead = false;
        await fault(top, top.path, error);
      }
      if (placed !== undefined) {
        top.cursor!.advance();
        await visit(top, placed);
        await look();
        continue;
      }
      stack.pop();
      root = finish(top);
      const above = stack.at(-1);
      if (above !== undefined) join(above, root);
    }
    requireRoom(stack, bytesBefore);
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
      if (bytesKnown() > limits.kept) truncate(0);
      const before = { directories: known.length, packs: packs.length, told: told.length, total };
      snapshots += 1;
      own = new Set();
      try {
        return await checkTree(snapshot, tree, findings, signal);
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error;
        // So that there is room for the next one.
        truncate(before.directories);
        packs.truncate(before.packs);
        told.truncate(before.told);
        total = before.total;
        await findings.onFault(new Uint8Array(0), error);
        return { isWhole: false, packs: function* none() {} };
      }
    },
  };
}

/** The numbers of what is right below a directory. */
function* joined({ children, lists }: Level): Generator<number> {
  yield* children;
  yield* lists;
}

function heldBy({ packs, children, lists }: Level): number {
  return packs.size + children.length + lists.size;
}

/** A tree that takes more memory than it should. */
class NoRoom extends StorageError {}

function digestOf(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  // With their lengths, so that different parts never are the same bytes.
  const all = parts.flatMap((part) => [
    utf8(`${part.length} `),
    typeof part === "string" ? utf8(part) : part,
  ]);
  return hash(...all).subarray(0, KEY_LENGTH);
}

/** What makes a directory the same: where its nodes lie, and its tree id. */
function keyOf({ nodes, treeId }: Directory): Uint8Array {
  const hashing = startHash();
  hashing.update(utf8("directory"));
  hashing.update(treeId);
  for (const { row, offset, length, name } of nodes) {
    hashing.update(encodeRow(row));
    hashing.update(utf8(`${offset} ${length} ${name.length} `));
    hashing.update(name);
  }
  return hashing.digest().subarray(0, KEY_LENGTH);
}

/** What makes a piece list the same: where it lies, and what it has to be. */
function keyOfList({ offset, stored, length }: PieceList, row: Row, levels: number): Uint8Array {
  const place = utf8(`${offset} ${stored} ${length} ${levels}`);
  return hash(utf8("list"), encodeRow(row), place).subarray(0, KEY_LENGTH);
}
