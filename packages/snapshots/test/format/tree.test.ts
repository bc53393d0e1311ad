import { describe, expect, test } from "bun:test";
import { type CborItem, encodeCborT } from "@idk/storage/blobs";
import fc from "fast-check";
import { PLACE, contentItems, entries } from "./arbitraries.ts";
import { acceptsOnlyCanonical, answers, fails, fromHex, toHex } from "../support.ts";
import { decodeNode, encodeNode } from "../../src/format/tree/node.ts";
import { decodePieceList } from "../../src/format/tree/content.ts";
import { encodePieceList } from "../../src/format/tree/encode-content.ts";
import { treeId, treeIdHash } from "../../src/format/tree/tree-id.ts";
import { mutated } from "./mutations.ts";

const [list, sub, root] = answers.metadataPack.frameHolds as [Held, Held, Held];
type Held = (typeof answers.metadataPack.frameHolds)[number];

describe("the known nodes", () => {
  test.each([sub, root])("$what survives", ({ offset, hex }) => {
    const place = { start: offset, rowCount: 2 };
    const node = decodeNode(fromHex(hex), place);
    expect(toHex(encodeNode(node, place))).toBe(hex);
  });

  test("have the known tree ids", () => {
    const node = (held: Held) => decodeNode(fromHex(held.hex), { start: held.offset, rowCount: 2 });
    expect(toHex(treeId(node(root)))).toBe(answers.treeIds["/"]);
    expect(toHex(treeId(node(sub)))).toBe(answers.treeIds["/sub"]);
    expect(toHex(treeId([]))).toBe(answers.treeIds["/empty"]);
    const child = node(root).find(({ name }) => toHex(name) === toHex(Buffer.from("sub")));
    expect(child?.type === "directory" && toHex(child.hash)).toBe(answers.treeIds["/sub"]);
  });

  test("the piece list survives", () => {
    const place = { start: list.offset, rowCount: 2 };
    const content = decodePieceList(fromHex(list.hex), 3 * 2 ** 20, place, 1);
    expect(content.map(({ kind }) => kind)).toEqual(["piece", "hole"]);
    expect(toHex(encodePieceList(content, place, 0))).toBe(list.hex);
    fails(
      () => decodePieceList(fromHex(list.hex), 3 * 2 ** 20 + 1, place, 1),
      "tree",
      "instead of",
    );
    fails(
      () => decodePieceList(fromHex(list.hex), 3 * 2 ** 20, { ...place, rowCount: 1 }, 1),
      "tree",
    );
  });

  test("refer only to what ends before they begin", () => {
    decodeNode(fromHex(root.hex), { start: sub.offset + sub.length, rowCount: 2 });
    fails(
      () => decodeNode(fromHex(root.hex), { start: sub.offset + sub.length - 1, rowCount: 2 }),
      "tree",
      "what lies before it",
    );
    fails(() => decodeNode(fromHex(root.hex), { start: root.offset, rowCount: 1 }), "tree", "row");
  });
});

test("a tree id counts its entries, and does not depend on where content lies", () => {
  expect(() => treeIdHash(1).digest()).toThrow(RangeError);
  fc.assert(
    fc.property(entries, (node) => {
      const moved = node.map((entry) =>
        entry.type === "file"
          ? { ...entry, content: [] }
          : entry.type === "directory"
            ? { ...entry, nodes: [] }
            : entry,
      );
      expect(toHex(treeId(moved))).toBe(toHex(treeId(node)));
      const changed = node.map((entry, i) =>
        i === 0 ? { ...entry, mode: entry.mode ^ 1 } : entry,
      );
      expect(toHex(treeId(changed))).not.toBe(toHex(treeId(node)));
    }),
  );
});

describe("nodes", () => {
  const decode = (bytes: Uint8Array) => decodeNode(bytes, PLACE);
  const encode = (node: Parameters<typeof encodeNode>[0]) => encodeNode(node, PLACE);

  test("survive", () => {
    fc.assert(
      fc.property(entries, (node) => {
        expect(decode(encode(node))).toEqual(node);
      }),
      { numRuns: 500 },
    );
  });

  test("that a reader would refuse are not encoded", () => {
    const [file] = decode(encodeCborT([FILE]));
    if (file?.type !== "file") throw new Error("it is a file");
    encode([file]);
    fails(() => encode([]), "tree");
    fails(() => encode([file, file]), "tree");
    fails(() => encode([{ ...file, name: utf8("a/b") }]), "tree");
    fails(() => encode([{ ...file, size: 6 }]), "tree");
    fails(() => encode([{ ...file, mode: 0o10000 }]), "tree");
    fails(() => encode([{ ...file, mode: 0.5 }]), "usage");
    const target = new Uint8Array(65_535).fill(1);
    const links = Array.from({ length: 65 }, (_, i) => ({
      ...file,
      type: "link" as const,
      name: utf8(`${100 + i}`),
      target,
    }));
    fails(() => encode(links), "tree", "frame");
  });

  test("have one encoding: a mutated one is another node or `tree`", () => {
    let accepted = 0;
    fc.assert(
      fc.property(mutated(entries.map(encode)), (bytes) => {
        if (acceptsOnlyCanonical(bytes, decode, encode, "tree")) accepted += 1;
      }),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(25);
  });
});

test("piece lists have one encoding", () => {
  const arbitrary = contentItems(1).filter((content) => content.length > 0);
  const total = (content: readonly { length: number }[]) =>
    content.reduce((sum, { length }) => sum + length, 0);
  fc.assert(
    fc.property(
      mutated(arbitrary.map((content) => encodePieceList(content, PLACE, 1))),
      arbitrary,
      (bytes, content) => {
        const sum = total(content);
        expect(decodePieceList(encodePieceList(content, PLACE, 1), sum, PLACE, 1)).toEqual(content);
        acceptsOnlyCanonical(
          bytes,
          (list) => decodePieceList(list, sum, PLACE, 1),
          (value) => encodePieceList(value, PLACE, 1),
          "tree",
        );
      },
    ),
    { numRuns: 500 },
  );
});

const utf8 = (text: string) => new TextEncoder().encode(text);
const HASH = new Uint8Array(32);
const piece = (...fields: CborItem[]): CborItem => fields;

/** An entry with some fields changed, by their numbers. */
function changed(
  fields: Readonly<Record<number, CborItem>>,
  base: readonly CborItem[] = FILE,
): CborItem[] {
  return base.map((field, i) => fields[i] ?? (i in fields ? null : field));
}

const NO_EXTRA = new Map<string, CborItem>();
const FILE = [utf8("a"), 0, 0o644, 0, 0, 0, 0, 5, [[1, 0, 5, 5, 0]], HASH, NO_EXTRA];
const DIRECTORY = [utf8("a"), 1, 0o755, 0, 0, 0, 0, 0, [[0, 0, 9, utf8("b")]], HASH, NO_EXTRA];
const LINK = [utf8("a"), 2, 0o777, 0, 0, 0, 0, 0, utf8("b"), null, NO_EXTRA];
const FIFO = [utf8("a"), 3, 0o644, 0, 0, 0, 0, 0, null, null, NO_EXTRA];
const DEVICE = [utf8("a"), 5, 0o644, 0, 0, 0, 0, 0, [1, 3], null, NO_EXTRA];

const accepts = (...node: CborItem[]) => decodeNode(encodeCborT(node), PLACE);
const withExtra = (base: readonly CborItem[], ...extra: [string, CborItem][]) =>
  changed({ 10: new Map(extra) }, base);

test("valid entries are taken", () => {
  for (const entry of [FILE, DIRECTORY, LINK, FIFO, DEVICE]) accepts(entry);
  accepts(changed({ 7: 0, 8: [] }));
  accepts(changed({ 7: 3, 8: [[null, 3]] }));
  accepts(changed({ 5: -(2 ** 53) + 1 }));
  accepts(changed({ 8: [] }, DIRECTORY));
  accepts(changed({ 0: utf8("...") }));
  accepts(withExtra(FILE, ["i", 1], ["l", 0]));
  accepts(changed({ 7: 2 ** 20, 8: [[1, 0, 1, 2 ** 20, 2]] }));
  // 4096 lists of nothing but their claims.
  accepts(changed({ 7: 4096, 8: Array.from({ length: 4096 }, () => piece(0, 0, 1, 1, 3)) }));
});

describe("what a node must not have", () => {
  const cases: Readonly<Record<string, CborItem[]>> = {
    "no entry": [],
    "two entries of one name": [FILE, FILE],
    "entries out of order": [changed({ 0: utf8("b") }), FILE],
    "an entry that is no array": [5],
    "a field more": [[...FILE, null]],
    "a field less": [FILE.slice(0, -1)],
    "an empty name": [changed({ 0: utf8("") })],
    "a name of 256 bytes": [changed({ 0: utf8("a".repeat(256)) })],
    "a name with a slash": [changed({ 0: utf8("a/b") })],
    "a name with a zero byte": [changed({ 0: utf8("a\0") })],
    "the name .": [changed({ 0: utf8(".") })],
    "the name ..": [changed({ 0: utf8("..") })],
    "a name that is text": [changed({ 0: "a" })],
    "a type 7": [changed({ 1: 7 })],
    "a negative type": [changed({ 1: -1 })],
    "a mode of 13 bits": [changed({ 2: 0o10000 })],
    "a user id of 33 bits": [changed({ 3: 2 ** 32 })],
    "a group id of 33 bits": [changed({ 4: 2 ** 32 })],
    "10^9 nanoseconds": [changed({ 6: 10 ** 9 })],
    "negative nanoseconds": [changed({ 6: -1 })],
    "a negative size": [changed({ 7: -1 })],
    "a size that its pieces do not have": [changed({ 7: 6 })],
    "a file without content": [changed({ 8: null })],
    "an empty piece": [changed({ 7: 0, 8: [piece(1, 0, 0, 0, 0)] })],
    "a piece without stored bytes": [changed({ 8: [piece(1, 0, 0, 5, 1)] })],
    "an empty hole": [changed({ 8: [piece(1, 0, 5, 5, 0), [null, 0]] })],
    "a hole with three fields": [changed({ 8: [[null, 5, 5]] })],
    "a piece of 2^20 + 1": [changed({ 7: 2 ** 20 + 1, 8: [piece(1, 0, 5, 2 ** 20 + 1, 1)] })],
    "a piece longer as stored": [changed({ 8: [piece(1, 0, 6, 5, 1)] })],
    "a raw piece shorter as stored": [changed({ 8: [piece(1, 0, 4, 5, 0)] })],
    "an encoding 4": [changed({ 8: [piece(1, 0, 5, 5, 4)] })],
    "a piece in row 0": [changed({ 8: [piece(0, 0, 5, 5, 0)] })],
    "a row that there is not": [changed({ 8: [piece(PLACE.rowCount, 0, 5, 5, 0)] })],
    "a piece beyond the end of its pack": [changed({ 8: [piece(1, 2 ** 22 - 4, 5, 5, 0)] })],
    "a list beyond the end of its frame": [changed({ 8: [piece(1, 2 ** 22 - 4, 5, 5, 3)] })],
    "4097 pieces": [
      changed({ 7: 4097, 8: Array.from({ length: 4097 }, () => piece(1, 0, 1, 1, 0)) }),
    ],
    "a file without a hash": [changed({ 9: null })],
    "a hash of 31 bytes": [changed({ 9: HASH.subarray(1) })],
    "a directory with a size": [changed({ 7: 1 }, DIRECTORY)],
    "a directory without nodes": [changed({ 8: null }, DIRECTORY)],
    "an empty node": [changed({ 8: [[0, 0, 0, utf8("b")]] }, DIRECTORY)],
    "nodes out of order": [
      changed(
        {
          8: [
            [0, 0, 9, utf8("b")],
            [0, 9, 9, utf8("b")],
          ],
        },
        DIRECTORY,
      ),
    ],
    "a node that begins with no name": [changed({ 8: [[0, 0, 9, utf8("")]] }, DIRECTORY)],
    "a directory without a tree id": [changed({ 9: null }, DIRECTORY)],
    "a link without a target": [changed({ 8: utf8("") }, LINK)],
    "a link with a zero byte": [changed({ 8: utf8("a\0") }, LINK)],
    "a link of 65,536 bytes": [changed({ 8: utf8("a".repeat(65_536)) }, LINK)],
    "a link with a hash": [changed({ 9: HASH }, LINK)],
    "a link with a size": [changed({ 7: 1 }, LINK)],
    "a fifo with content": [changed({ 8: [] }, FIFO)],
    "a device with one number": [changed({ 8: [1] }, DEVICE)],
    "a device without numbers": [changed({ 8: null }, DEVICE)],
    "an unknown extra field": [withExtra(FILE, ["z", 1])],
    "an owner's name of bytes": [withExtra(FILE, ["u", utf8("a")])],
    "a directory with hard links": [withExtra(DIRECTORY, ["l", 1])],
    "a negative number of links": [withExtra(FILE, ["l", -1])],
    "no attributes, and a key for them": [withExtra(FILE, ["x", new Map()])],
    "an attribute of text": [withExtra(FILE, ["x", new Map([["user.a", "b"]])])],
    "a mark of change that is 0": [withExtra(FILE, ["i", 0])],
    "a directory that changed while read": [withExtra(DIRECTORY, ["i", 1])],
  };
  test.each(Object.entries(cases))("%s", (_, node) => {
    fails(() => accepts(...node), "tree");
  });

  test("a list within the second level of lists", () => {
    const bytes = encodeCborT([piece(1, 0, 5, 5, 3)]);
    expect(decodePieceList(bytes, 5, PLACE, 1).length).toBe(1);
    fails(() => decodePieceList(bytes, 5, PLACE, 0), "tree", "too deep");
    fails(() => decodePieceList(encodeCborT([]), 0, PLACE, 1), "tree", "empty");
    const hole = encodeCborT([[null, 5]]);
    expect(decodePieceList(hole, 5, PLACE, 0).length).toBe(1);
  });
});

test("a node of millions of items is refused within memory", () => {
  const bytes = new Uint8Array(2 ** 22).fill(0x80);
  bytes.set([0x9a, 0x00, 0x3f, 0xff, 0xfb]);
  const before = process.memoryUsage.rss();
  fails(() => decodeNode(bytes, PLACE), "tree");
  fails(() => decodeNode(new Uint8Array(2 ** 22 + 1), PLACE), "tree", "4194304");
  expect(process.memoryUsage.rss() - before).toBeLessThan(256 * 2 ** 20);
});
