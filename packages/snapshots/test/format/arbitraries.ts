/* oxlint-disable oxc/no-map-spread -- these are maps of arbitraries, not of arrays */
import fc from "fast-check";
import type { Address } from "@idk/storage";
import { addressList } from "../../src/format/records/address-list.ts";
import type { ChainId, RepositoryId, SessionId } from "../../src/format/names/identifiers.ts";
import type { ContentItem, NodeReference, Piece, Place } from "../../src/format/tree/content.ts";
import type { Entry, Extra } from "../../src/format/tree/entry.ts";
import type { Head } from "../../src/format/records/head.ts";
import type { Marker } from "../../src/format/names/marker.ts";
import type { Reach } from "../../src/format/records/reach.ts";
import type { Row } from "../../src/format/packs/row.ts";
import type { Snapshot } from "../../src/format/records/snapshot.ts";
import { type WriterKey, writerKeyFromSeed } from "../../src/format/keys/writer.ts";
import { chainOf, faultOfChainName } from "../../src/format/names/chain.ts";

/** The place that arbitrary nodes and lists lie at: so far behind that anything may lie before. */
export const PLACE: Place = { start: 2 ** 22, rowCount: 300 };

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((value) => Buffer.from(value).toString("hex"));

export const repository = hex(16) as fc.Arbitrary<RepositoryId>;
export const session = hex(16) as fc.Arbitrary<SessionId>;
export const chain = hex(16) as fc.Arbitrary<ChainId>;
export const address = hex(32) as fc.Arbitrary<Address>;
export const hash: fc.Arbitrary<Uint8Array> = fc.uint8Array({ minLength: 32, maxLength: 32 });

export const uint: fc.Arbitrary<number> = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  fc.constantFrom(0, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1),
);

const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("__proto__", "constructor", "", "é"),
);

export const row: fc.Arbitrary<Row> = fc.record({
  session,
  address,
  salt: fc.uint8Array({ minLength: 16, maxLength: 16 }),
});

const entryName: fc.Arbitrary<Uint8Array> = fc
  .oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    fc.uint8Array({ minLength: 250, maxLength: 255 }),
    fc
      .constantFrom("a", "...", "-rf", "\n", "👩‍👩‍👧‍👦", "CON", " ")
      .map((name) => new TextEncoder().encode(name)),
  )
  .filter(
    (name) =>
      !name.includes(0) &&
      !name.includes(0x2f) &&
      !["2e", "2e2e"].includes(Buffer.from(name).toString("hex")),
  );

const piece: fc.Arbitrary<Piece> = fc
  .record({
    encoding: fc.constantFrom("raw" as const, "lz4" as const, "zstd" as const),
    row: fc.integer({ min: 1, max: PLACE.rowCount - 1 }),
    offset: fc.nat(2 ** 21),
    length: fc.integer({ min: 1, max: 2 ** 20 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ share, ...item }) => ({
    kind: "piece",
    ...item,
    stored: item.encoding === "raw" ? item.length : Math.max(1, Math.floor(item.length * share)),
  }));

/** What lies in a decoded frame. */
const frameRange = fc.record({
  row: fc.nat(PLACE.rowCount - 1),
  offset: fc.nat(2 ** 21),
  stored: fc.integer({ min: 1, max: 2 ** 21 }),
});

export function contentItems(levels: number): fc.Arbitrary<ContentItem[]> {
  const length = fc.integer({ min: 1, max: 2 ** 40 });
  const hole = length.map((holeLength): ContentItem => ({ kind: "hole", length: holeLength }));
  const list = fc
    .tuple(frameRange, length)
    .map(([range, listLength]): ContentItem => ({ kind: "list", ...range, length: listLength }));
  return fc.array(fc.oneof(piece, hole, ...(levels > 0 ? [list] : [])), { maxLength: 8 });
}

/** In the order of their names, without two of one name. */
function sortedByName<T extends { readonly name: Uint8Array }>(items: readonly T[]): T[] {
  const sorted = items.toSorted((a, b) => Buffer.compare(a.name, b.name));
  return sorted.filter(
    (item, i) => i === 0 || Buffer.compare(sorted[i - 1]!.name, item.name) !== 0,
  );
}

const nodes: fc.Arbitrary<NodeReference[]> = fc
  .array(
    fc.tuple(frameRange, entryName).map(([range, name]) => ({
      row: range.row,
      offset: range.offset,
      length: range.stored,
      name,
    })),
    { maxLength: 4 },
  )
  .map(sortedByName);

const attributes = fc
  .array(fc.tuple(text, fc.uint8Array({ maxLength: 30 })), { minLength: 1, maxLength: 3 })
  .map((entries) => new Map(entries));

const extra: fc.Arbitrary<Extra> = fc.record(
  { user: text, group: text, attributes },
  { requiredKeys: [] },
);

const common = fc.record({
  name: entryName,
  mode: fc.nat(0o7777),
  uid: fc.nat(2 ** 31 - 1),
  gid: fc.nat(2 ** 31 - 1).map((id) => 2 ** 32 - 1 - id),
  mtime: fc.record({
    seconds: fc.maxSafeInteger(),
    nanoseconds: fc.nat(10 ** 9 - 1),
  }),
});

export const entry: fc.Arbitrary<Entry> = fc
  .tuple(
    common,
    extra,
    fc.oneof(
      fc.record({
        type: fc.constant("file" as const),
        content: contentItems(2),
        hash,
        links: fc.option(uint, { nil: undefined }),
        inconsistent: fc.constantFrom(true as const, undefined),
      }),
      fc.record({ type: fc.constant("directory" as const), nodes, hash }),
      fc.record({
        type: fc.constant("link" as const),
        target: fc.uint8Array({ min: 1, minLength: 1, maxLength: 40 }),
        links: fc.option(uint, { nil: undefined }),
      }),
      fc.record({
        type: fc.constantFrom("character-device" as const, "block-device" as const),
        major: uint,
        minor: uint,
      }),
      fc.record({ type: fc.constantFrom("fifo" as const, "socket" as const) }),
    ),
  )
  .map(([shared, extras, own]): Entry => {
    const links = "links" in own && own.links !== undefined ? { links: own.links } : {};
    const mark =
      "inconsistent" in own && own.inconsistent === true ? { inconsistent: true as const } : {};
    const all = { ...shared, extra: { ...extras, ...links, ...mark } };
    switch (own.type) {
      case "file": {
        const size = own.content.reduce((sum, { length }) => sum + length, 0);
        return { ...all, type: own.type, size, content: own.content, hash: own.hash };
      }
      case "directory":
        return { ...all, type: own.type, nodes: own.nodes, hash: own.hash };
      case "link":
        return { ...all, type: own.type, target: own.target };
      case "character-device":
      case "block-device":
        return { ...all, type: own.type, major: own.major, minor: own.minor };
      case "fifo":
      case "socket":
      default:
        return { ...all, type: own.type };
    }
  });

/** The entries of a node, in order. */
export const entries: fc.Arbitrary<Entry[]> = fc
  .array(entry, { minLength: 1, maxLength: 6 })
  .map(sortedByName);

export const marker: fc.Arbitrary<Marker> = fc.record({ chain, generation: uint, address });

export const writerKey: fc.Arbitrary<WriterKey> = fc
  .constantFrom(1, 2, 3)
  .map((byte) => writerKeyFromSeed(new Uint8Array(32).fill(byte)));

export const chainName: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.constantFrom("home", "büro", "a/b", "x"),
  )
  .filter((name) => faultOfChainName(name) === undefined);

const rule = fc
  .record({
    writer: fc.option(
      writerKey.map(({ writer }) => writer),
      { nil: null },
    ),
    pattern: text,
    mayForget: fc.boolean(),
    lastGeneration: fc.option(uint, { nil: null }),
  })
  .map((fields) =>
    fields.writer === null
      ? { ...fields, mayForget: false, lastGeneration: fields.lastGeneration ?? 7 }
      : fields,
  );

export const head: fc.Arbitrary<Head> = fc
  .tuple(
    fc.record({
      repository,
      generation: uint,
      previous: fc.array(address, { maxLength: 3 }),
      time: uint,
      writer: writerKey.map(({ writer }) => writer),
      expectedSeconds: fc.option(uint, { nil: null }),
      message: fc.option(text, { nil: null }),
      tags: fc.array(text, { maxLength: 3 }),
    }),
    chainName,
    fc.oneof(
      fc.record({ kind: fc.constant("snap" as const), snapshot: address, reach: address }),
      fc.record({ kind: fc.constant("part" as const), reach: address }),
      fc.record({
        kind: fc.constant("repo" as const),
        settings: fc.record({
          graceSeconds: fc.integer({ min: 3600, max: 10 ** 9 }),
          rules: fc.array(rule, { maxLength: 4 }),
        }),
      }),
      fc.record({
        kind: fc.constantFrom("forget" as const, "unforget" as const),
        markers: fc.array(marker, { maxLength: 4 }),
      }),
      fc.record({ kind: fc.constant("keys" as const), keys: address }),
    ),
  )
  .map(([shared, named, own]): Head => {
    const name =
      own.kind === "repo" ? "" : own.kind === "snap" || own.kind === "part" ? named : ".";
    return { ...shared, name, chain: chainOf(shared.repository, name), ...own };
  });

export const snapshot: fc.Arbitrary<Snapshot> = fc
  .record({
    repository,
    chain,
    root: fc
      .array(
        fc.tuple(row, frameRange, entryName).map(([nodeRow, range, name]) => ({
          row: nodeRow,
          offset: range.offset,
          length: range.stored,
          name,
        })),
        { maxLength: 3 },
      )
      .map(sortedByName),
    treeId: hash,
    others: fc.array(session, { maxLength: 3 }),
    key: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    host: text,
    user: text,
    paths: fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 3 }),
    excludes: fc.array(text, { maxLength: 3 }),
    start: uint,
    end: uint,
    totals: fc.record({
      files: uint,
      directories: uint,
      bytes: uint,
      newBytes: uint,
      storedBytes: uint,
      errors: uint,
    }),
  })
  .map(({ others, key, ...fields }) => {
    const sessions = [...others, ...fields.root.map((node) => node.row.session)];
    return { ...fields, sessionKeys: new Map(sessions.map((id) => [id, key])) };
  });

export const addresses: fc.Arbitrary<Uint8Array> = fc
  .array(
    // From few, so that lists have some in common.
    fc.nat(24).map((byte) => Buffer.alloc(32, byte).toString("hex") as Address),
    { maxLength: 12 },
  )
  .map(addressList);

export const reach: fc.Arbitrary<Reach> = fc.record({
  earlier: fc.uniqueArray(address, { maxLength: 4 }),
  added: addresses,
  dropped: addresses,
});
