import { describe, expect, test } from "bun:test";
import {
  decodePieces,
  decodeValue,
  encodePieces,
  encodeValue,
  entryOf,
} from "../../src/write/tree/record-value.ts";
import { encodeAfter, writeEntry, writeTreeIdItem } from "../../src/format/tree/encode-entry.ts";
import { ByteWriter } from "../../src/format/tree/byte-writer.ts";
import type { CacheRecord } from "../../src/cache/record.ts";
import type { Content } from "../../src/format/tree/encode-content.ts";
import type { Entry } from "../../src/format/tree/entry.ts";
import { LIST, PIECE_ENCODINGS } from "../../src/format/packs/piece.ts";
import { NewList, pieceCollector } from "../../src/write/files/piece-lists.ts";
import type { Cache } from "../../src/cache/cache.ts";
import type { MetadataPacker } from "../../src/write/packs/metadata-packer.ts";
import { NODE_ENTRIES_MIN, PIECES_MAX } from "../../src/format/limits.ts";
import { isCutName } from "../../src/format/tree/cut.ts";
import { treeBuilder } from "../../src/write/tree/tree-builder.ts";
import type { PlacedPiece } from "../../src/format/tree/encode-content.ts";
import { TreeIdSpool } from "../../src/write/tree/tree-id-spool.ts";
import { encodeCborT } from "@idk/storage/blobs";
import { entry as anyEntry } from "../format/arbitraries.ts";
import { encodeNode } from "../../src/format/tree/node.ts";
import fc from "fast-check";
import { treeId } from "../../src/format/tree/tree-id.ts";

/** The record that a cache has of an entry. Rows stand for the numbers of packs. */
function recordOf(entry: Entry): CacheRecord {
  const { name, mode, uid, gid, mtime, extra, type } = entry;
  const hash = type === "file" || type === "directory" ? entry.hash : null;
  const content: Content =
    entry.type === "file"
      ? {
          kind: "pieces",
          pieces: entry.content.map((item) =>
            item.kind === "hole"
              ? { pack: 0, offset: 0, stored: 0, length: item.length, encoding: 0 }
              : {
                  ...item,
                  pack: item.row,
                  encoding: item.kind === "list" ? LIST : PIECE_ENCODINGS.indexOf(item.encoding),
                },
          ),
        }
      : entry.type === "directory"
        ? { kind: "nodes", nodes: entry.nodes.map(({ row, ...node }) => ({ ...node, pack: row })) }
        : entry.type === "link"
          ? { kind: "fixed", item: encodeCborT(entry.target) }
          : entry.type === "character-device" || entry.type === "block-device"
            ? { kind: "fixed", item: encodeCborT([entry.major, entry.minor]) }
            : { kind: "fixed", item: encodeCborT(null) };
  const after = encodeAfter(hash, extra);
  const value = encodeValue({ uid, gid, links: extra.links, after, content });
  const size = entry.type === "file" ? entry.size : 77;
  const state = { type, mode, size, mtime, ctime: mtime, inode: 1n, isRecent: false };
  return { kind: "entry", name, state, value };
}

/** Entries as the writer makes them: a list in row 0 would be taken for a hole. */
const entries = anyEntry.filter(
  (entry) =>
    !(
      entry.type === "file" && entry.content.some((item) => item.kind === "list" && item.row === 0)
    ),
);

describe("entries written from records", () => {
  test("are those that the format encodes, and no longer than was measured", () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const bytes = entryOf(recordOf(entry));
        const into = new ByteWriter();
        into.head(4, 1);
        writeEntry(into, bytes, (pack) => pack);
        const place = { start: 2 ** 22, rowCount: 2 ** 16 };
        expect(Buffer.from(into.view())).toEqual(Buffer.from(encodeNode([entry], place)));
        expect(into.length - 1).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });

  test("have the tree id that the format says, also of a directory of many", () => {
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 5 }), (list) => {
        const spool = new TreeIdSpool();
        for (const entry of list) spool.add(entryOf(recordOf(entry)));
        expect(Buffer.from(spool.digest())).toEqual(Buffer.from(treeId(list)));
        spool.close();
      }),
    );
    const many = Array.from({ length: 60_000 }, (_, i): Entry => {
      const name = Buffer.from(String(i).padStart(6, "0"));
      const mtime = { seconds: 1, nanoseconds: 2 };
      const hash = new Uint8Array(32).fill(i);
      const common = { mode: 0o644, uid: 1, gid: 2, mtime, extra: {} };
      return { type: "file", name, ...common, size: 0, content: [], hash };
    });
    const spool = new TreeIdSpool();
    for (const entry of many) spool.add(entryOf(recordOf(entry)));
    expect(Buffer.from(spool.digest())).toEqual(Buffer.from(treeId(many)));
    spool.close();
  });

  test("come back from the cache", () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const record = recordOf(entry);
        const value = decodeValue(record.value, record.state.type);
        expect(Buffer.from(encodeValue(value))).toEqual(Buffer.from(record.value));
        expect(value.links).toBe(entry.extra.links);
        if (value.content.kind !== "pieces") return;
        const { pieces } = value.content;
        expect(decodePieces(encodePieces(pieces))).toEqual([...pieces]);
      }),
    );
  });

  test("write integers in the shortest form", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const into = new ByteWriter(1);
        into.integer(value);
        expect(Buffer.from(into.view())).toEqual(Buffer.from(encodeCborT(value)));
      }),
    );
  });

  test("of a tree's own writer are told from others of equal bytes but another type", () => {
    const into = new ByteWriter();
    const name = Buffer.from("a");
    const mtime = { seconds: 0, nanoseconds: 0 };
    const common = { name, mode: 0, uid: 0, gid: 0, mtime, extra: {} };
    writeTreeIdItem(into, entryOf(recordOf({ type: "fifo", ...common })));
    const fifo = into.view().slice();
    into.clear();
    writeTreeIdItem(into, entryOf(recordOf({ type: "socket", ...common })));
    expect(Buffer.from(into.view())).not.toEqual(Buffer.from(fifo));
  });
});

test("a folder of so many nodes that its entry does not fit is left out, and named by its path", () => {
  const cache = {
    piece: () => undefined,
    addPiece: () => undefined,
    use: () => undefined,
  } satisfies Partial<Cache> as unknown as Cache;
  const metadata = {
    add: () => ({ pack: 1, offset: 0, length: 1 }),
  } satisfies Partial<MetadataPacker> as unknown as MetadataPacker;
  const reported: string[] = [];
  const builder = treeBuilder({
    cache,
    next: { add: () => undefined },
    metadata,
    isUsable: () => true,
    onUsed: () => undefined,
    onTooLarge: (path) => void reported.push(Buffer.from(path).toString()),
  });
  const time = { seconds: 1, nanoseconds: 0 };
  const state = { mode: 0, size: 0, mtime: time, ctime: time, inode: 1n, isRecent: false };
  const enter = (name: string): void => {
    const folder = { name: Buffer.from(name), state: { type: "directory" as const, ...state } };
    builder.enter({ ...folder, uid: 0, gid: 0, extra: {} }, undefined);
  };
  const item = encodeCborT(null);
  const content: Content = { kind: "fixed", item };
  const after = encodeAfter(null, {});
  const value = encodeValue({ uid: 0, gid: 0, links: undefined, after, content });
  const add = (name: Uint8Array): void =>
    builder.entry({ kind: "entry", name, state: { type: "fifo", ...state }, value }, false);
  for (const name of ["", "above", "large"]) enter(name);
  // As many nodes as there are, each with the longest name first.
  for (let node = 0; node < 2000; node += 1) {
    const begin = String(node).padStart(4, "0");
    add(Buffer.from(begin + "!".repeat(251)));
    for (let i = 2; i < NODE_ENTRIES_MIN; i += 1)
      add(Buffer.from(`${begin}a${String(i).padStart(3, "0")}`));
    let last = 0;
    while (!isCutName(Buffer.from(`${begin}b${last}`))) last += 1;
    add(Buffer.from(`${begin}b${last}`));
  }
  builder.leave(undefined);
  expect(reported).toEqual(["/above/large"]);
  builder.leave(undefined);
  builder.leave(undefined);
  expect(builder.result().totals).toEqual({ files: 0, directories: 1, bytes: 0 });
}, 60_000);

describe("the pieces of a file", () => {
  const collect = (count: number) => {
    const lists: NewList[] = [];
    const collector = pieceCollector((list) => void lists.push(list));
    for (let at = 1; at <= count; at += 1) {
      collector.add({ pack: at, offset: 0, stored: 1, length: 1, encoding: 0 });
    }
    return { top: collector.end(), lists };
  };
  const flatten = (items: readonly PlacedPiece[]): number[] =>
    items.flatMap((item) => (item instanceof NewList ? flatten(item.items) : [item.pack]));

  test.each([0, 1, PIECES_MAX, PIECES_MAX + 1, 3 * PIECES_MAX, 3 * PIECES_MAX + 5])(
    "%i of them are in the entry, or in lists that are in order",
    (count) => {
      const { top, lists } = collect(count);
      expect(flatten(top)).toEqual(Array.from({ length: count }, (_, at) => at + 1));
      expect(lists.length).toBe(count <= PIECES_MAX ? 0 : Math.ceil(count / PIECES_MAX));
      for (const { items, length } of lists) {
        expect(items.length).toBeLessThanOrEqual(PIECES_MAX);
        expect(length).toBe(items.length);
      }
    },
  );

  test("beyond 2^24 are in lists of lists", () => {
    const { top } = collect(PIECES_MAX * PIECES_MAX + 1);
    expect(top.length).toBe(2);
    const [first, second] = top as NewList[];
    expect(first!.items.length).toBe(PIECES_MAX);
    expect(first!.length).toBe(PIECES_MAX * PIECES_MAX);
    expect(second!.length).toBe(1);
  }, 60_000);
});
