import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { padme } from "../../src/format/padding.ts";
import { type RootFields, decodeRoot } from "../../src/format/root.ts";
import { encodedRoot } from "../support.ts";
import { fails } from "./fails.ts";
import { type Item, independentCbor } from "./independent-cbor.ts";

const MiB = 2 ** 20;
const content = (length: number) => Uint8Array.from({ length }, (_, i) => i);

const inline = { b: content(12), d: 0, k: 0, m: new Map<string, Item>(), n: 12, p: 0 };
const tree = { b: content(128), d: 1, k: 22, m: new Map<string, Item>(), n: 5 * MiB, p: 7 };

/** A root's plaintext as the format describes it. */
function root(entries: Record<string, Item>, zeros = 0): Uint8Array {
  return laidOut(independentCbor(new Map(Object.entries(entries))), zeros);
}

function laidOut(map: Uint8Array, zeros = 0, claimed = map.length): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(claimed);
  return Buffer.concat([length, map, Buffer.alloc(zeros)]);
}

function fieldsOf({ b, d, k, m, n, p }: typeof inline): RootFields {
  return { body: b, depth: d, chunkLog2: k, metadata: m, contentLength: n, padding: p };
}

describe("a root", () => {
  test.each([inline, tree])("has the layout of the format", (entries) => {
    expect(Buffer.compare(encodedRoot(fieldsOf(entries), false), root(entries))).toBe(0);
  });

  test("is padded with zeros by Padmé if requested", () => {
    fc.assert(
      fc.property(fc.nat(5000), (length) => {
        const fields = fieldsOf({ ...inline, b: content(length), n: length });
        const bare = encodedRoot(fields, false);
        const padded = encodedRoot(fields, true);
        expect(padded).toHaveLength(padme(bare.length));
        expect(padded.subarray(0, bare.length)).toEqual(bare);
        expect(padded.subarray(bare.length).every((byte) => byte === 0)).toBe(true);
        expect(decodeRoot(padded)).toEqual(decodeRoot(bare));
      }),
      { numRuns: 50 },
    );
  });

  test.each([0, 1, 12, MiB - 1, MiB])("of %d inline bytes is decoded", (length) => {
    const body = content(length);
    const read = decodeRoot(root({ ...inline, b: body, n: length }));
    expect(Buffer.compare(read.body, body)).toBe(0);
    expect(read).toMatchObject({ contentLength: length, padding: 0, shape: { counts: [] } });
  });

  test("of a tree is decoded", () => {
    const read = decodeRoot(root(tree));
    expect(read.shape).toEqual({
      paddedLength: 5 * MiB + 7,
      chunkSize: 2 ** 22,
      depth: 1,
      counts: [2],
    });
    expect(read).toMatchObject({ contentLength: 5 * MiB, padding: 7, body: tree.b });
  });

  test("of the widest tree is decoded", () => {
    const wide = { ...tree, b: content(4096 * 64), k: 18, n: 4096 * 2 ** 18, p: 0 };
    expect(decodeRoot(root(wide)).shape.counts).toEqual([4096]);
    const deeper = { ...wide, b: content(2 * 64), d: 2, n: wide.n + 1 };
    expect(decodeRoot(root(deeper)).shape.counts).toEqual([4097, 2]);
  });

  test("is decoded with any number of padding zeros up to 2 MiB", () => {
    const bare = root(inline).length;
    for (const zeros of [0, 1, 1000, 2 * MiB - bare]) {
      expect(decodeRoot(root(inline, zeros)).contentLength).toBe(12);
    }
    fails(() => decodeRoot(root(inline, 2 * MiB - bare + 1)), "root", "length");
  });

  test("is decoded into copies, except its body, which is a view", () => {
    const m = new Map<string, Item>([
      ["bytes", Uint8Array.of(1, 2, 3)],
      ["text", "abc"],
    ]);
    const plaintext = root({ ...inline, m });
    const read = decodeRoot(plaintext);
    plaintext.fill(0xff);
    expect(read.body).toEqual(new Uint8Array(12).fill(0xff));
    expect(read.metadata["bytes"]).toEqual(Uint8Array.of(1, 2, 3));
    expect(read.metadata["text"]).toBe("abc");
  });

  test("is decoded at any offset of a larger buffer", () => {
    const plaintext = root(inline, 5);
    const larger = new Uint8Array(plaintext.length + 30).fill(0xff);
    larger.set(plaintext, 13);
    expect(decodeRoot(larger.subarray(13, 13 + plaintext.length)).body).toEqual(content(12));
  });
});

const { b: _, ...withoutBody } = inline;
const map = independentCbor(new Map(Object.entries(inline)));
const withMetadata = (key: string, value: Item) => root({ ...inline, m: new Map([[key, value]]) });

const malformed: Record<string, Uint8Array> = {
  "nothing at all": new Uint8Array(0),
  "three bytes": new Uint8Array(3),
  "a map of no bytes": laidOut(new Uint8Array(0)),
  "an empty map": root({}),
  "a map that ends past the end": laidOut(map, 0, map.length + 1),
  "a map that ends 4 GiB past the end": laidOut(map, 0, 2 ** 32 - 1),
  "a map truncated by its length": laidOut(map, 0, map.length - 1),
  "a map longer than its item": laidOut(Buffer.concat([map, Buffer.of(0)])),
  "padding of 1 at its end": Buffer.concat([root(inline, 99), Buffer.of(1)]),
  "padding of 1 at its start": Buffer.concat([root(inline), Buffer.of(1), Buffer.alloc(99)]),
  "an unknown entry": root({ ...inline, x: 0 }),
  "a missing entry": root(withoutBody),
  "an entry under another name": root({ ...withoutBody, x: inline.b }),
  "metadata that is not a map": root({ ...inline, m: 0 }),
  "a body that is text": root({ ...inline, b: "a".repeat(12) }),
  "a length that is text": root({ ...inline, n: "12" }),
  "a depth that is bytes": root({ ...inline, d: Uint8Array.of(0) }),
  "a chunk size that is a map": root({ ...inline, k: new Map() }),
  "padding that is text": root({ ...inline, p: "0" }),
  "a longer length than its content": root({ ...inline, n: 13 }),
  "a shorter length than its content": root({ ...inline, n: 11 }),
  "a chunk size for inline content": root({ ...inline, k: 22 }),
  "padding of inline content": root({ ...inline, p: 1 }),
  "more than 1 MiB of inline content": root({ ...inline, b: content(MiB + 1), n: MiB + 1 }),
  "a tree for little content": root({ ...tree, n: MiB }),
  "a depth of 2 for 2 leaves": root({ ...tree, d: 2 }),
  "a depth of 4": root({ ...tree, d: 4 }),
  "a depth of 1 for 4097 leaves": root({
    ...tree,
    b: content(4097 * 64),
    k: 18,
    n: 2 ** 30 + 1,
    p: 0,
  }),
  "chunks of 2^17": root({ ...tree, k: 17 }),
  "chunks of 2^25": root({ ...tree, k: 25 }),
  "one reference too few": root({ ...tree, b: content(64) }),
  "one reference too many": root({ ...tree, b: content(192) }),
  "references one byte too short": root({ ...tree, b: content(127) }),
  "no references": root({ ...tree, b: content(0) }),
  "more padding than content": root({ ...tree, p: 5 * MiB + 1 }),
  "content and padding of 2^53": root({ ...tree, d: 3, n: 2 ** 52, p: 2 ** 52 }),
  "content of 2^53": laidOut(
    Buffer.concat([map.subarray(0, -4), Buffer.from("1b0020000000000000617000", "hex")]),
  ),
  "metadata in metadata": withMetadata("m", new Map()),
  "an empty metadata key": withMetadata("", 0),
  "a metadata key of 256 bytes": withMetadata("k".repeat(256), 0),
  "65,537 bytes of metadata": withMetadata("t", "x".repeat(65_531)),
};

describe("root is the code of", () => {
  test.each(Object.entries(malformed))("%s", (_name, plaintext) => {
    fails(() => decodeRoot(plaintext), "root", "malformed");
  });

  test("a plaintext truncated anywhere before its padding", () => {
    const plaintext = root(inline, 10);
    for (let length = 0; length < plaintext.length - 10; length++) {
      fails(() => decodeRoot(plaintext.subarray(0, length)), "root");
    }
  });
});
