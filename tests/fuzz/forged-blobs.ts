import { createHash } from "node:crypto";
import {
  generateIdentity,
  type Identity,
  loadNaCl,
  type NaCl,
  publicKeyOf,
} from "../../packages/storage/src/index.ts";
import { bodyKeyOf, commitmentOf } from "../../packages/storage/src/crypto/key-schedule.ts";
import { wrapContentKey } from "../../packages/storage/src/crypto/wrap-key.ts";
import {
  head,
  independentCbor,
  type Item,
  longHead,
} from "../../packages/storage/test/format/independent-cbor.ts";
import { BORDERS, type Draw, drawFrom, HOSTILE, joined, mutatedBytes } from "./draw.ts";

/*
 * Trees that a sender could have sealed. Each part may be malformed while everything around it is
 * valid, so that a reader gets as far as that part: a wrong number in a root whose body opens, a leaf
 * of the wrong length under a matching name.
 */

export const naCl: NaCl = await loadNaCl("auto");
/** The recipients of every root. */
export const alice: Identity = await generateIdentity();
export const bob: Identity = await generateIdentity();

export const CHUNK: number = 2 ** 18;
const INLINE_MAX = 2 ** 20;
const FANOUT = 4096;
const TAG = 16;
const ZEROS = new Uint8Array(24);

type Kind = "root" | "node" | "leaf";

/** What was sealed as a child. */
export interface SealedChild {
  /** Undefined if its header commits to another key. */
  readonly kind: Kind | undefined;
  readonly plaintext: Uint8Array;
  readonly contentKey: Uint8Array;
}

export interface Forgery {
  /** Name → bytes, which match. */
  readonly blobs: Map<string, Uint8Array<ArrayBuffer>>;
  readonly children: ReadonlyMap<string, SealedChild>;
  readonly root: string;
  readonly rootPlaintext: Uint8Array;
  /** What the root's slots contain. */
  readonly contentKey: Uint8Array;
  /** The content, if a reader has to accept the tree; before it was compressed. */
  readonly content: Uint8Array | undefined;
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Reference {
  readonly address: string;
  readonly contentKey: Uint8Array;
}

interface StoredChild extends SealedChild, Reference {
  readonly blob: Uint8Array<ArrayBuffer>;
}

function child(kind: Kind, contentKey: Uint8Array, plaintext: Uint8Array): StoredChild {
  const header = independentCbor(new Map([["c", commitmentOf(contentKey)]]));
  const blob = sealed(kind, contentKey, plaintext, header);
  return { kind, contentKey, plaintext, blob, address: sha256(blob) };
}

/** Other bytes that the child's reference opens: what someone who can read the tree can make. */
export function resealed(draw: Draw, { kind, contentKey, plaintext }: SealedChild): Uint8Array {
  const other = new Uint8Array(plaintext);
  if (other.length > 0) other[draw.upTo(other.length - 1)]! ^= 1;
  return child(kind ?? "leaf", contentKey, other).blob;
}

function sealed(
  kind: Kind,
  contentKey: Uint8Array,
  plaintext: Uint8Array,
  header: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const length = Uint8Array.of(header.length >> 8, header.length & 0xff);
  const prefix = joined(Uint8Array.of(0x49, 0x44, 0x4b, 1), length, header);
  const body = new Uint8Array(TAG + plaintext.length);
  naCl.seal(body, plaintext, ZEROS, bodyKeyOf(contentKey, prefix, kind));
  return joined(prefix, body);
}

/** Bytes that are the same in no two places, cheaply. */
function filled(draw: Draw, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const numbers = new DataView(bytes.buffer);
  const salt = draw.upTo(2 ** 31);
  for (let at = 0; at + 4 <= length; at += 64) numbers.setUint32(at, salt ^ at);
  return bytes;
}

// Sealed once, because sealing takes longer than everything else.
const once = drawFrom(0);
const FULL = Array.from({ length: 5 }, () => child("leaf", once.bytes(32), filled(once, CHUNK)));
const ZERO = child("leaf", once.bytes(32), new Uint8Array(CHUNK));
const SHORT = [1, 1000, CHUNK - 1].map((length) =>
  child("leaf", once.bytes(32), filled(once, length)),
);
/** Leaves of the wrong length, and children of the wrong kind. */
const MISFITS = [
  child("leaf", once.bytes(32), new Uint8Array(0)),
  child("leaf", once.bytes(32), filled(once, CHUNK + 1)),
  child("leaf", once.bytes(32), filled(once, 4 * CHUNK)),
  child("node", once.bytes(32), filled(once, CHUNK)),
  child("root", once.bytes(32), filled(once, CHUNK)),
];
/** Opens, if the commitment is not compared. */
const UNCOMMITTED = ((): StoredChild => {
  const [contentKey, plaintext] = [once.bytes(32), filled(once, CHUNK)];
  const header = independentCbor(new Map([["c", once.bytes(32)]]));
  const blob = sealed("leaf", contentKey, plaintext, header);
  return { kind: undefined, contentKey, plaintext, blob, address: sha256(blob) };
})();
const NODE = child(
  "node",
  once.bytes(32),
  references(Array.from({ length: FANOUT }, (_, i) => FULL[i % FULL.length]!)),
);
/** Short leaves continued by padding. */
const CONTINUED = new Map(
  SHORT.map((short) => {
    const plaintext = joined(short.plaintext, new Uint8Array(CHUNK - short.plaintext.length));
    return [short, child("leaf", once.bytes(32), plaintext)];
  }),
);
const POOL: readonly StoredChild[] = [
  ...FULL,
  ZERO,
  ...SHORT,
  ...CONTINUED.values(),
  ...MISFITS,
  UNCOMMITTED,
  NODE,
];
const CHILDREN: ReadonlyMap<string, SealedChild> = new Map(
  POOL.map((item) => [item.address, item]),
);

function withZeros(short: StoredChild): StoredChild {
  return CONTINUED.get(short)!;
}

function references(children: readonly Reference[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(64 * children.length);
  for (const [i, { address, contentKey }] of children.entries()) {
    bytes.set(Buffer.from(address, "hex"), 64 * i);
    bytes.set(contentKey, 64 * i + 32);
  }
  return bytes;
}

/** What is malformed. */
const AREAS = [
  "nothing",
  "frame",
  "children",
  "children",
  "fields",
  "cbor",
  "plaintext",
  "header",
  "kind",
  "blob",
] as const;

/** One tree, malformed in at most two areas. */
export function forge(draw: Draw): Forgery {
  const areas = new Set([draw.pick(AREAS), draw.oneIn(5) ? draw.pick(AREAS) : "nothing"]);
  const { fields, content } = areas.has("frame") ? encodedContent(draw, true) : drawContent(draw);
  const metadata = fields.get("m") as Map<string, Item>;
  if (draw.oneIn(2)) metadata.set("name", draw.pick(HOSTILE).toWellFormed());
  const [body, depth] = [fields.get("b"), fields.get("d")];
  if (areas.has("children") && depth !== 0 && body instanceof Uint8Array) {
    fields.set("b", misfitting(draw, body));
  }
  if (areas.has("fields")) mutateFields(draw, fields);

  let cbor: Uint8Array = independentCbor(fields);
  if (areas.has("cbor")) {
    cbor = draw.oneIn(2) ? carelessCbor(draw, fields) : mutatedBytes(draw, cbor);
  }
  let rootPlaintext: Uint8Array = joined(head32(cbor.length), cbor, new Uint8Array(draw.upTo(40)));
  if (areas.has("plaintext")) rootPlaintext = mutatedBytes(draw, rootPlaintext);

  const contentKey = draw.bytes(32);
  const publicKeys = [alice, bob].map(({ recipient }) => publicKeyOf(recipient));
  const { ephemeral, slots } = wrapContentKey(naCl, contentKey, draw.bytes(32), publicKeys);
  const fieldsOfHeader = new Map<string, Item>([
    ["c", commitmentOf(contentKey)],
    ["e", ephemeral],
    ["w", joined(...slots)],
  ]);
  let header: Uint8Array = independentCbor(fieldsOfHeader);
  if (areas.has("header")) {
    if (draw.oneIn(2)) mutateHeader(draw, fieldsOfHeader);
    header = draw.oneIn(2) ? carelessCbor(draw, fieldsOfHeader) : independentCbor(fieldsOfHeader);
    if (draw.oneIn(4)) header = mutatedBytes(draw, header);
  }
  const kind = areas.has("kind") ? draw.pick(["leaf", "node"] as const) : "root";
  let blob = sealed(kind, contentKey, rootPlaintext, header.subarray(0, 65_535));
  if (areas.has("blob")) blob = mutatedBytes(draw, blob);

  const root = sha256(blob);
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>([[root, blob]]);
  for (const item of POOL) blobs.set(item.address, item.blob);
  const sound = areas.size === 1 && areas.has("nothing");
  return {
    blobs,
    children: CHILDREN,
    root,
    rootPlaintext,
    contentKey,
    content: sound ? content : undefined,
  };
}

interface DrawnContent {
  readonly fields: Map<string, Item>;
  readonly content: Uint8Array | undefined;
}

function drawContent(draw: Draw): DrawnContent {
  switch (draw.upTo(7)) {
    case 0:
      return encodedContent(draw, false);
    case 1:
    case 2: {
      const content = filled(draw, draw.pick([0, 1, 100, 5000, draw.oneIn(8) ? INLINE_MAX : 3]));
      return { fields: fieldsOf(content, { d: 0, k: 0, n: content.length, p: 0 }), content };
    }
    case 3:
      // Two gigabytes, of which a reader takes the beginning.
      return {
        fields: fieldsOf(references([NODE, NODE]), { d: 2, k: 18, n: 2 * FANOUT * CHUNK, p: 0 }),
        content: undefined,
      };
    default: {
      const full = [...draw.shuffled(FULL), draw.pick(FULL)].slice(0, 4 + draw.upTo(2));
      const short = draw.pick(SHORT);
      const n = full.length * CHUNK + short.plaintext.length;
      const padded = draw.oneIn(3);
      const children = padded ? [...full, withZeros(short), ZERO] : [...full, short];
      const p = padded ? 2 * CHUNK - short.plaintext.length : 0;
      const content = joined(...full.map(({ plaintext }) => plaintext), short.plaintext);
      return { fields: fieldsOf(references(children), { d: 1, k: 18, n, p }), content };
    }
  }
}

function encodedContent(draw: Draw, malformed: boolean): DrawnContent {
  const content = filled(draw, draw.pick([0, 100, 5000, 200_000]));
  const zstd = new Uint8Array(Bun.zstdCompressSync(content, { level: draw.pick([1, 19]) }));
  const frame = malformed ? mutatedBytes(draw, zstd) : zstd;
  const fields = fieldsOf(frame, { d: 0, k: 0, n: frame.length, p: 0 });
  // A malformed frame of the other codec reaches nothing beyond its first bytes.
  fields.set(
    "m",
    new Map<string, Item>([
      ["enc", "zstd"],
      ["len", content.length],
    ]),
  );
  return { fields, content };
}

function fieldsOf(body: Uint8Array, numbers: Readonly<Record<string, number>>): Map<string, Item> {
  return new Map<string, Item>([["b", body], ["m", new Map()], ...Object.entries(numbers)]);
}

/** One child replaced, removed, repeated, or under another key or address. */
function misfitting(draw: Draw, body: Uint8Array): Uint8Array {
  const changed: Reference[] = Array.from({ length: body.length / 64 }, (_, i) => ({
    address: Buffer.from(body.subarray(64 * i, 64 * i + 32)).toString("hex"),
    contentKey: body.subarray(64 * i + 32, 64 * i + 64),
  }));
  const at = draw.upTo(changed.length - 1);
  const { address, contentKey } = changed[at]!;
  const other = draw.pick(draw.oneIn(2) ? [...MISFITS, UNCOMMITTED] : POOL);
  switch (draw.upTo(7)) {
    default:
      changed[at] = other;
      break;
    case 1:
      changed[at] = { address, contentKey: other.contentKey };
      break;
    case 2:
      changed[at] = { address: other.address, contentKey };
      break;
    case 3:
      changed[at] = { address: sha256(draw.bytes(4)), contentKey };
      break;
    case 4:
      changed.splice(at, 1);
      break;
    case 5:
      changed.splice(at, 0, other);
  }
  return references(changed);
}

const OF_EACH_TYPE: readonly Item[] = ["", 0, new Uint8Array(3), new Map()];

function mutateFields(draw: Draw, fields: Map<string, Item>): void {
  for (let changes = 1 + draw.upTo(1); changes > 0; changes--) {
    const key = draw.pick(["b", "d", "k", "m", "n", "p", "n", "p", "m"]);
    const value = fields.get(key);
    const choice = draw.upTo(11);
    if (choice === 0) fields.delete(key);
    else if (choice === 1) fields.set(key, draw.pick(OF_EACH_TYPE));
    else if (choice === 2) fields.set(draw.pick(["__proto__", "z", "", "bb"]), draw.upTo(99));
    else if (typeof value === "number") {
      const near = value + draw.pick([-1, 1, CHUNK, -CHUNK]);
      fields.set(key, near >= 0 && draw.oneIn(2) ? near : draw.pick(BORDERS));
    } else if (value instanceof Uint8Array) fields.set(key, mutatedBytes(draw, value));
    else if (value instanceof Map) addMetadata(draw, value);
  }
}

function addMetadata(draw: Draw, metadata: Map<string, Item>): void {
  const key = draw.pick([
    "enc",
    "len",
    "name",
    "__proto__",
    "constructor",
    "k".repeat(255),
    "type",
  ]);
  switch (draw.upTo(6)) {
    case 0:
      metadata.set("enc", draw.pick(["zstd", "lz4", "constructor", "gzip", "__proto__"]));
      metadata.set("len", draw.pick(BORDERS));
      break;
    case 1:
      metadata.set(key, draw.pick(BORDERS));
      break;
    case 2:
      metadata.set(key, draw.pick(HOSTILE).toWellFormed());
      break;
    case 3:
      metadata.set(key, draw.bytes(draw.upTo(300)));
      break;
    case 4:
      metadata.set("k".repeat(draw.upTo(300)), 1);
      break;
    case 5:
      metadata.set(key, "x".repeat(65_000 + draw.upTo(600)));
      break;
    default:
      metadata.set(key, new Map());
  }
}

function mutateHeader(draw: Draw, header: Map<string, Item>): void {
  const key = draw.pick(["c", "e", "w"]);
  const value = header.get(key) as Uint8Array;
  switch (draw.upTo(5)) {
    case 0:
      header.set(key, mutatedBytes(draw, value));
      break;
    case 1:
      header.delete(key);
      break;
    case 2:
      header.set(draw.pick(["x", "__proto__", "cc"]), value);
      break;
    case 3:
      // Low order, or not canonical.
      header.set(
        "e",
        Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? draw.upTo(1) : 0)),
      );
      break;
    case 4:
      header.set("w", draw.bytes(48 * draw.pick([0, 1, 2, 40])));
      break;
    default:
      header.set("e", new Uint8Array(32).fill(0xff));
  }
}

/** CBOR that a lax reader accepts: longer heads, keys in another order or twice, other counts. */
function carelessCbor(draw: Draw, item: Item): Uint8Array {
  const rare = 6;
  const anyHead = (major: number, argument: number): Uint8Array =>
    draw.oneIn(rare)
      ? longHead(
          major,
          BigInt(argument),
          draw.pick([1, 2, 4, 8].filter((w) => argument < 256 ** w)),
        )
      : head(major, argument);
  const encoded = (value: Item): Uint8Array => {
    if (typeof value === "number") return anyHead(0, value);
    if (typeof value === "string") {
      const bytes = new TextEncoder().encode(value);
      return joined(anyHead(3, bytes.length), bytes);
    }
    if (value instanceof Uint8Array) return joined(anyHead(2, value.length), value);
    let entries = Array.from(value, ([key, inner]) => joined(encoded(key), encoded(inner)));
    entries.sort(Buffer.compare);
    if (draw.oneIn(rare)) entries = draw.shuffled(entries);
    if (draw.oneIn(rare) && entries.length > 0) entries.push(draw.pick(entries));
    const claimed = draw.oneIn(rare) ? draw.pick(BORDERS) : entries.length;
    return joined(anyHead(5, claimed), ...entries);
  };
  return encoded(item);
}

function head32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}
