import { describe, expect, test } from "bun:test";
import { isCutName, nodeCutter } from "../../src/format/tree/cut.ts";
import { answers } from "../support.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const NAMES = Array.from({ length: 4000 }, (_, i) => `file-${`${i}`.padStart(5, "0")}`);

interface Sized {
  readonly name: Uint8Array;
  readonly length: number;
  readonly packs: readonly string[];
}

const sized = (name: string, length = 100, packs: readonly string[] = []): Sized => ({
  name: utf8(name),
  length,
  packs,
});

const firstNames = (nodes: readonly (readonly Sized[])[]) =>
  nodes.map(([first]) => Buffer.from(first!.name).toString());

test("the known names are cut after", () => {
  expect(NAMES.filter((name) => isCutName(utf8(name)))).toEqual([...answers.cutAfter.names]);
});

describe("a directory", () => {
  const cut = (entries: readonly Sized[]) => {
    const cutter = nodeCutter<Sized>();
    const nodes = entries.flatMap((entry) => cutter.add(entry));
    nodes.push(...cutter.end());
    expect(nodes.flat()).toEqual([...entries]);
    return nodes;
  };

  test("without entries has no node, and with up to 1,024 one", () => {
    expect(cut([])).toEqual([]);
    expect(cut(NAMES.slice(0, 1024).map((name) => sized(name))).length).toBe(1);
  });

  test("of more is cut after names, where a node has 128 entries", () => {
    // 00021 comes too early, 00956 follows 00869 too closely, and so do 02597 to 02641.
    expect(firstNames(cut(NAMES.map((name) => sized(name))))).toEqual([
      "file-00000",
      "file-00870",
      "file-01581",
      "file-01944",
      "file-02306",
      "file-02598",
      "file-03903",
    ]);
    // One more than one node has.
    expect(firstNames(cut(NAMES.slice(0, 1025).map((name) => sized(name))))).toEqual([
      "file-00000",
      "file-00870",
    ]);
  });

  test("with one more file has one other node", () => {
    const before = cut(NAMES.map((name) => sized(name)));
    const more = NAMES.flatMap((name) => (name === "file-02400" ? [name, `${name}a`] : [name]));
    const after = cut(more.map((name) => sized(name)));
    const text = (nodes: readonly (readonly Sized[])[]) =>
      nodes.map((node) => node.map(({ name }) => Buffer.from(name).toString()).join());
    const known = new Set(text(before));
    expect(text(after).filter((node) => !known.has(node)).length).toBe(1);
  });

  test("of long entries is cut before one that would make a node too long", () => {
    const entries = NAMES.slice(0, 100).map((name) => sized(name, 2 ** 16));
    // Seven of 65,536 bytes and the head of the array fit 2^19 bytes.
    expect(cut(entries).map((node) => node.length)).toEqual([
      ...Array.from({ length: 14 }, () => 7),
      2,
    ]);
  });

  test("that refers to many packs is cut before 6,144", () => {
    const entries = NAMES.slice(0, 30).map((name, i) =>
      sized(
        name,
        100,
        Array.from({ length: 1000 }, (_, k) => `${i}/${k}`),
      ),
    );
    expect(cut(entries).map((node) => node.length)).toEqual([6, 6, 6, 6, 6]);
    const same = NAMES.slice(0, 30).map((name) =>
      sized(
        name,
        100,
        Array.from({ length: 1000 }, (_, k) => `${k}`),
      ),
    );
    expect(cut(same).length).toBe(1);
  });

  test("with an entry that fits no node is refused", () => {
    expect(() => cut([sized("a", 2 ** 19)])).toThrow(RangeError);
  });
});
