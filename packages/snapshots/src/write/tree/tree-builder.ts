import { type CacheRecord, type State, StoredRecord, fileSize } from "../../cache/record.ts";
import type { Cache, NextRecords } from "../../cache/cache.ts";
import type { Content, PlacedNode } from "../../format/tree/encode-content.ts";
import {
  type EntryBytes,
  encodeAfter,
  extraIn,
  hashIn,
  writeEntry,
} from "../../format/tree/encode-entry.ts";
import { LIST } from "../../format/packs/piece.ts";
import type { Extra } from "../../format/tree/entry.ts";
import { ARRAY, ByteWriter } from "../../format/tree/byte-writer.ts";
import type { MetadataPacker } from "../packs/metadata-packer.ts";
import { NODE_ENTRIES_MAX, NODE_MAX, NODE_PACKS_MAX } from "../../format/limits.ts";
import { type NodeCutter, nodeCutter } from "../../format/tree/cut.ts";
import { addPlace, findPlace } from "../places.ts";
import { TreeIdSpool } from "./tree-id-spool.ts";
import { concat, equal, hash } from "@idk/storage/blobs";
import { decodeValue, encodeValue, entryOf } from "./record-value.ts";

/** What becomes of the root directory. */
export interface BuiltTree {
  readonly treeId: Uint8Array;
  readonly nodes: readonly PlacedNode[];
  /** As the snapshot announces them. */
  readonly totals: TreeTotals;
}

interface TreeTotals {
  readonly files: number;
  readonly directories: number;
  readonly bytes: number;
}

/** A folder that is walked. */
export interface FolderState {
  readonly name: Uint8Array;
  readonly state: State;
  readonly uid: number;
  readonly gid: number;
  /** Owners and attributes; undefined if they are those of the last record. */
  readonly extra: Extra | undefined;
}

/**
 * Builds the tree of a snapshot from the entries of a walk, and hands the records to the cache. A
 * directory in which nothing changed keeps its nodes; of a large one, each node that stays the same.
 */
export interface TreeBuilder {
  /** @param before the record of its beginning, if the cache has one */
  enter(folder: FolderState, before: CacheRecord | undefined): void;
  /** @param isSame whether the entry is as its directory's nodes have it already */
  entry(record: CacheRecord, isSame: boolean): void;
  /** An entry of the present folder is not there any more. */
  gone(before: CacheRecord): void;
  /** @param before the record of the folder's end, if the cache has one */
  leave(before: CacheRecord | undefined): void;
  /** The tree, after the root was left. */
  result(): BuiltTree;
  close(): void;
}

export interface TreeOptions {
  readonly cache: Cache;
  readonly next: NextRecords;
  readonly metadata: MetadataPacker;
  /** Whether what is in a pack can be used again. */
  readonly isUsable: (pack: number) => boolean;
  /** Is told of each pack that the tree needs, and bytes of it. */
  readonly onUsed: (pack: number, bytes: number) => void;
  /** Is told of a folder that is left out because its entry does not fit. */
  readonly onTooLarge: (path: Uint8Array) => void;
}

interface Frame {
  readonly folder: FolderState;
  /** Whether everything so far is as in the last snapshot. */
  isSame: boolean;
  /** The record of its beginning in the cache. */
  readonly before: StoredRecord | undefined;
  /**
   * How many of the first entries stayed as they are and are not kept: of a directory of a million in
   * which nothing changes, none has to be. They are read from the cache again if one does change.
   */
  passed: number;
  /** Entries that may all stay as they are; undefined once they are cut into nodes as they come. */
  pending: CacheRecord[] | undefined;
  readonly cutter: NodeCutter<EntryBytes>;
  readonly treeId: TreeIdSpool;
  readonly nodes: (PlacedNode & { readonly isNew: boolean })[];
  readonly totals: { -readonly [Key in keyof TreeTotals]: TreeTotals[Key] };
}

const NOTHING = new Uint8Array(0);
const SLASH = Buffer.from("/");
/** References to so many nodes fit an entry, however long their names are. */
const NODES_FIT = 1024;

export function treeBuilder(options: TreeOptions): TreeBuilder {
  const { cache, next, metadata, isUsable, onUsed } = options;
  const frames: Frame[] = [];
  let root: BuiltTree | undefined;

  /** Stores a node, unless a pack has the same one already. */
  const place = (entries: readonly EntryBytes[]): PlacedNode & { readonly isNew: boolean } => {
    const { name } = entries[0]!;
    const id = nodeHash(entries);
    const known = findPlace(cache, "node", id, isUsable);
    if (known !== undefined) {
      const { pack, offset, length } = known;
      return { pack, offset, length, name, isNew: false };
    }
    let lengthMax = 5;
    for (const { length } of entries) lengthMax += length;
    const packs = entries.flatMap(({ packs: own }) => own as readonly number[]);
    const placed = metadata.add(lengthMax, packs, (into, rowOf) => {
      into.head(ARRAY, entries.length);
      for (const entry of entries) writeEntry(into, entry, rowOf);
    });
    addPlace(cache, "node", id, { ...placed, stored: placed.length, encoding: LIST });
    return { ...placed, name, isNew: true };
  };

  const addToNodes = (frame: Frame, record: CacheRecord): void => {
    const entry = entryOf(record);
    frame.treeId.add(entry);
    for (const node of frame.cutter.add(entry)) frame.nodes.push(place(node));
  };
  const cutPending = (frame: Frame): void => {
    if (frame.passed > 0) {
      for (const record of firstEntries(frame)) addToNodes(frame, record);
      frame.passed = 0;
    }
    for (const record of frame.pending ?? []) addToNodes(frame, record);
    frame.pending = undefined;
  };

  /** The entries that were passed, from the cache. */
  function* firstEntries({ before, passed }: Frame): Generator<CacheRecord> {
    let [depth, left] = [0, passed];
    for (const record of cache.records(before)) {
      if (record.kind === "enter") depth += 1;
      if (record.kind === "leave") depth -= 1;
      // The first record is that of the folder's own beginning.
      if (depth !== 1 || record.kind === "enter") continue;
      yield record;
      left -= 1;
      if (left === 0) return;
    }
  }

  /** What a folder consists of now. */
  const contentOf = (
    frame: Frame,
    before: CacheRecord | undefined,
  ): { hash: Uint8Array; nodes: readonly PlacedNode[]; isSame: boolean } => {
    const old = before === undefined ? undefined : decodeValue(before.value, "directory");
    const oldNodes = old === undefined ? [] : nodesOf(old.content);
    const isSame =
      frame.isSame && old !== undefined && oldNodes.every(({ pack }) => isUsable(pack));
    if (isSame) return { hash: hashIn(old.after), nodes: oldNodes, isSame };
    cutPending(frame);
    for (const node of frame.cutter.end()) frame.nodes.push(place(node));
    for (const node of oldNodes) cache.use(node, -1);
    for (const node of frame.nodes) if (!node.isNew) cache.use(node, 1);
    return { hash: frame.treeId.digest(), nodes: frame.nodes, isSame };
  };

  const add = (record: CacheRecord, isSame: boolean): void => {
    const frame = frames.at(-1)!;
    frame.isSame &&= isSame;
    if (frame.pending === undefined) {
      addToNodes(frame, record);
      return;
    }
    frame.pending.push(record);
    if (frame.pending.length <= NODE_ENTRIES_MAX) return;
    if (frame.isSame && frame.before !== undefined) {
      frame.passed += frame.pending.length;
      frame.pending = [];
    } else {
      cutPending(frame);
    }
  };

  return {
    enter(folder, before) {
      next.add({ kind: "enter", name: folder.name, state: folder.state, value: NOTHING });
      frames.push({
        folder,
        isSame: true,
        before: before instanceof StoredRecord ? before : undefined,
        passed: 0,
        pending: [],
        cutter: nodeCutter(),
        treeId: new TreeIdSpool(),
        nodes: [],
        totals: { files: 0, directories: 0, bytes: 0 },
      });
    },
    entry(record, isSame) {
      next.add(record);
      const { totals } = frames.at(-1)!;
      totals.files += 1;
      totals.bytes += fileSize(record);
      add(record, isSame);
    },
    gone(before) {
      frames.at(-1)!.isSame = false;
      // Its folders and their nodes are gone, too; what files had is not known here.
      if (before.kind !== "leave") return;
      for (const node of nodesOf(decodeValue(before.value, "directory").content)) {
        cache.use(node, -1);
      }
    },
    leave(before) {
      const frame = frames.at(-1)!;
      const { folder } = frame;
      const built = contentOf(frame, before);
      frame.treeId.close();
      frames.pop();
      for (const { pack, length } of built.nodes) onUsed(pack, length);
      const record = recordOf(folder, built, before);
      next.add(record);
      if (frames.length === 0) {
        root = { treeId: built.hash, nodes: built.nodes, totals: frame.totals };
        return;
      }
      const parent = frames.at(-1)!;
      if (built.nodes.length > NODES_FIT && !fitsNode(entryOf(record))) {
        parent.isSame = false;
        const names = [...frames.slice(1).map((above) => above.folder.name), folder.name];
        options.onTooLarge(Buffer.concat(names.flatMap((name) => [SLASH, name])));
        return;
      }
      parent.totals.files += frame.totals.files;
      parent.totals.directories += frame.totals.directories + 1;
      parent.totals.bytes += frame.totals.bytes;
      add(record, before !== undefined && isSameEntry(record, before));
    },
    result() {
      if (root === undefined) throw new Error("the root was not left");
      return root;
    },
    close() {
      for (const { treeId } of frames) treeId.close();
    },
  };
}

function recordOf(
  { name, state, uid, gid, extra }: FolderState,
  { hash, nodes }: { readonly hash: Uint8Array; readonly nodes: readonly PlacedNode[] },
  before: CacheRecord | undefined,
): CacheRecord {
  const after =
    extra === undefined && before !== undefined
      ? concat(
          encodeAfter(hash, {}).subarray(0, -1),
          extraIn(decodeValue(before.value, "directory").after),
        )
      : encodeAfter(hash, extra ?? {});
  const content: Content = { kind: "nodes", nodes };
  const value = encodeValue({ uid, gid, links: undefined, after, content });
  return { kind: "leave", name, state, value };
}

/** Whether two records stand for one entry, down to where its content lies. */
export function isSameEntry(a: CacheRecord, b: CacheRecord): boolean {
  const [one, other] = [a.state, b.state];
  return (
    one.type === other.type &&
    one.mode === other.mode &&
    one.size === other.size &&
    one.mtime.seconds === other.mtime.seconds &&
    one.mtime.nanoseconds === other.mtime.nanoseconds &&
    equal(a.value, b.value)
  );
}

function nodesOf(content: Content): readonly PlacedNode[] {
  return content.kind === "nodes" ? content.nodes : [];
}

/** The array of a node has a head, too. */
function fitsNode({ length, packs }: EntryBytes): boolean {
  return length + 5 <= NODE_MAX && new Set(packs).size <= NODE_PACKS_MAX;
}

const identity = new ByteWriter();

/** Names a node by all that it has, so that the same one is not stored twice. */
function nodeHash(entries: readonly EntryBytes[]): Uint8Array {
  identity.clear();
  for (const entry of entries) writeEntry(identity, entry, (pack) => pack);
  return hash(identity.view());
}
