import type { DirectoryEntry, Entry } from "../format/tree/entry.ts";
import { type ContentItem, type PieceList, decodePieceList } from "../format/tree/content.ts";
import { type Row, decodeRow, rowKey } from "../format/packs/row.ts";
import type { MetadataPack } from "../format/packs/metadata-pack.ts";
import type { PackReader } from "./pack-reader.ts";
import type { Snapshot } from "../format/records/snapshot.ts";
import { StorageError } from "@idk/storage";
import { byteCache } from "./byte-cache.ts";
import { decodeNode } from "../format/tree/node.ts";

/** Where a node lies, wherever it is referred to from. */
export interface PlacedNode {
  readonly row: Row;
  /** In the decoded frame. */
  readonly offset: number;
  readonly length: number;
  /** The name of its first entry. */
  readonly name: Uint8Array;
}

/** A directory of a snapshot. */
export interface Directory {
  /** In the order of their names; none if it is empty. */
  readonly nodes: readonly PlacedNode[];
  readonly treeId: Uint8Array;
}

/** An entry, with what the rows in its content mean. */
export interface PlacedEntry {
  readonly entry: Entry;
  readonly pack: PlacedPack;
}

/** A metadata pack, and where it is. */
export interface PlacedPack {
  readonly row: Row;
  /** The row of a number in it; 0 is its own. */
  rowOf(index: number): Row;
}

/** Reads nodes and piece lists. */
export interface TreeReader {
  /** The entries of a node: decoded ones are kept within a budget. */
  entries(node: PlacedNode, signal?: AbortSignal): Promise<readonly PlacedEntry[]>;
  /** How many entries a node claims to have, without decoding them. */
  count(node: PlacedNode, signal?: AbortSignal): Promise<number>;
  /**
   * What a piece list holds.
   *
   * @param levels how many levels of lists there may be below it
   */
  list(
    list: PieceList,
    from: PlacedPack,
    levels: number,
    signal?: AbortSignal,
  ): Promise<{ readonly content: readonly ContentItem[]; readonly pack: PlacedPack }>;
}

/** A decoded node takes so many times its bytes. */
const DECODED_FACTOR = 24;
const NODES_BUDGET = 16 * 2 ** 20;
/** Bytes of memory that a row in use takes at most. */
const ROW_COST = 256;

export function treeReader(packs: PackReader): TreeReader {
  const nodes = byteCache<readonly PlacedEntry[]>(NODES_BUDGET);
  /** A walk asks for the same node with every entry, and a key takes longer than the entry. */
  let last: { readonly node: PlacedNode; readonly placed: readonly PlacedEntry[] } | undefined;
  const load = async (row: Row, offset: number, length: number, signal?: AbortSignal) => {
    const pack = await packs.metadata(row, signal);
    if (offset + length > pack.frame.length) {
      const text = `a node or list lies beyond the end of the metadata pack ${row.address}`;
      throw new StorageError("tree", text);
    }
    const place = { start: offset, rowCount: pack.rowCount };
    return { pack, place, bytes: pack.frame.subarray(offset, offset + length) };
  };
  return {
    async entries(node, signal) {
      if (last?.node === node) return last.placed;
      const { row, offset, length } = node;
      const key = `${rowKey(row)}:${offset}:${length}`;
      let placed = nodes.get(key);
      if (placed === undefined) {
        const { pack, place, bytes } = await load(row, offset, length, signal);
        // Of a copy, and with copies of its rows, so that a node in memory does not keep its pack there.
        // The frame is a Buffer, whose `slice` is no copy.
        const entries = decodeNode(new Uint8Array(bytes), place);
        const rows = entries.flatMap(rowsOf);
        const from = placedPack(row, pack, rows);
        placed = entries.map((entry) => ({ entry, pack: from }));
        nodes.set(key, placed, length * DECODED_FACTOR + rows.length * ROW_COST);
      }
      if (Buffer.compare(placed[0]!.entry.name, node.name) !== 0) {
        throw new StorageError("tree", "a node begins with another name than announced");
      }
      last = { node, placed };
      return placed;
    },
    async count({ row, offset, length }, signal) {
      return arrayLength((await load(row, offset, length, signal)).bytes);
    },
    async list({ row: index, offset, stored, length }, from, levels, signal) {
      const row = from.rowOf(index);
      const { pack, place, bytes } = await load(row, offset, stored, signal);
      const content = decodePieceList(bytes, length, place, levels);
      return { content, pack: placedPack(row, pack, rowsIn(content)) };
    },
  };
}

/** The rows that an entry refers to. */
function rowsOf(entry: Entry): number[] {
  if (entry.type === "directory") return entry.nodes.map(({ row }) => row);
  return entry.type === "file" ? rowsIn(entry.content) : [];
}

function rowsIn(content: readonly ContentItem[]): number[] {
  return content.flatMap((item) => (item.kind === "hole" ? [] : item.row));
}

function placedPack(row: Row, pack: MetadataPack, used: readonly number[]): PlacedPack {
  const rows = new Map<number, Row>([[0, row]]);
  for (const index of used) {
    if (!rows.has(index)) rows.set(index, decodeRow(new Uint8Array(pack.row(index))));
  }
  const rowOf = (index: number) => {
    const found = rows.get(index);
    if (found === undefined) throw new RangeError(`the row ${index} is not used`);
    return found;
  };
  return { row, rowOf };
}

/** The root directory of a snapshot. */
export function rootOf({ root, treeId }: Snapshot): Directory {
  return { nodes: root, treeId };
}

/** The directory that an entry stands for. */
export function directoryOf({ entry, pack }: PlacedEntry & { entry: DirectoryEntry }): Directory {
  const nodes = entry.nodes.map(({ row, offset, length, name }): PlacedNode => {
    const copy = new Uint8Array(name);
    return { row: pack.rowOf(row), offset, length, name: copy };
  });
  return { nodes, treeId: new Uint8Array(entry.hash) };
}

/** The number of items of a CBOR array, from its head; a node is decoded strictly later. */
function arrayLength(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const first = bytes[0]!;
  const info = first & 0x1f;
  const isArray = first >> 5 === 4;
  if (isArray && info < 24) return info;
  if (isArray && info === 24 && bytes.length > 1) return view.getUint8(1);
  if (isArray && info === 25 && bytes.length > 2) return view.getUint16(1);
  if (isArray && info === 26 && bytes.length > 4) return view.getUint32(1);
  throw new StorageError("tree", "the node is malformed: it is not an array");
}

/** The entry of a name in a directory: one node is read, however many it has. */
export async function lookUp(
  tree: TreeReader,
  { nodes }: Directory,
  name: Uint8Array,
  signal?: AbortSignal,
): Promise<PlacedEntry | undefined> {
  const node = nodes[lastAtMost(nodes, (each) => each.name, name)];
  if (node === undefined) return undefined;
  const entries = await tree.entries(node, signal);
  const found = entries[lastAtMost(entries, ({ entry }) => entry.name, name)];
  return found !== undefined && Buffer.compare(found.entry.name, name) === 0 ? found : undefined;
}

/** The index of the last item whose name is at most this one, by bisection; −1 if none is. */
function lastAtMost<T>(
  items: readonly T[],
  nameOf: (item: T) => Uint8Array,
  name: Uint8Array,
): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(nameOf(items[middle]!), name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
