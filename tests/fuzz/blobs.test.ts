import {
  createStore,
  type Backend,
  type GetOptions,
  type Store,
  StorageError,
  type StoredContent,
} from "../../packages/storage/src/index.ts";
import { splitEnvelope } from "../../packages/storage/src/format/envelope.ts";
import { decodeCbor } from "../../packages/storage/src/format/cbor.ts";
import { independentCbor, type Item } from "../../packages/storage/test/format/independent-cbor.ts";
import { expect } from "bun:test";
import { hkdfSync } from "node:crypto";
import { type Draw, mutatedBytes } from "./draw.ts";
import { alice, bob, CHUNK, forge, type Forgery, naCl, resealed } from "./forged-blobs.ts";
import { fuzz, outcomes } from "./fuzz.ts";

/*
 * Whatever a sender has sealed and whatever a store returns, reading ends in the content or in an
 * integrity code, and releases only bytes that were sealed, in their order.
 */

const INTEGRITY: ReadonlySet<string> = new Set(
  "limit address format no-match commit auth root tree encoding not-found".split(" "),
);
/** A small store can claim endless content: as much of it is read. */
const READ_MAX = 2 ** 21;

const ended = outcomes("blobs", {
  content: 0.1,
  ...Object.fromEntries([...INTEGRITY].map((code) => [code, code === "limit" ? 0 : 0.002])),
});

/** What the store holds, and what it returns for one of the names. */
let forgery: Forgery;
let alteration: Alteration | undefined;

const store = {
  alice: createStore({ backend: forgedBackend(), identities: [alice], nacl: naCl }),
  bob: createStore({ backend: forgedBackend(), identities: [bob], nacl: naCl }),
};

fuzz("blobs", async (draw) => {
  forgery = forge(draw);
  alteration = draw.oneIn(4) ? drawAlteration(draw) : undefined;
  const sound = alteration === undefined ? forgery.content : undefined;
  const reader = draw.pick([store.alice, store.bob]);
  const { root } = forgery;
  try {
    switch (draw.upTo(9)) {
      case 0:
        await reader.verify(draw.pick([root, draw.pick([...forgery.blobs.keys()])]));
        await reader.inspect(root);
        expectCanonicalHeader(forgery.blobs.get(root)!);
        break;
      case 1:
        await scanAll(reader);
        await reader.stat(root);
        expectCanonicalRoot();
        break;
      case 2: {
        const { size, depth } = await reader.stat(root);
        if (size > READ_MAX || depth > 1) break;
        await reader.verify(root, { deep: true });
        expectCanonicalRoot();
        break;
      }
      default:
        await readContent(draw, reader, sound);
    }
    ended("content");
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (isRefusal(error)) return ended(error.code);
    if (!INTEGRITY.has(error.code) || sound !== undefined) throw error;
    ended(error.code);
  }
});

/** The call itself is impossible: a range of compressed content, or content longer than memory. */
function isRefusal({ code, message }: StorageError): boolean {
  const reasons = /^this content is compressed|: use stream\(\)$|^the range (?:starts|ends) at/u;
  return code === "usage" && reasons.test(message);
}

interface Alteration {
  readonly name: string;
  /** Undefined for a blob that is missing. */
  readonly bytes: Uint8Array | undefined;
  /** How many downloads are altered. The next ones are right again. */
  times: number;
}

function drawAlteration(draw: Draw): Alteration {
  const { blobs, root } = forgery;
  const names = [...blobs.keys()];
  const name = draw.oneIn(2) ? root : draw.pick(names);
  const times = draw.pick([1, 2, Infinity]);
  const choice = draw.upTo(9);
  const child = forgery.children.get(name);
  if (choice >= 7) {
    // As valid as the right one, under its name: another root, or a child that its reference opens.
    const other = forge(draw);
    const bytes = child === undefined ? other.blobs.get(other.root) : resealed(draw, child);
    return { name, bytes, times };
  }
  if (choice === 0) return { name, bytes: undefined, times };
  if (choice === 1) return { name, bytes: blobs.get(draw.pick(names)), times };
  if (choice === 2) return { name, bytes: TOO_LONG, times };
  return { name, bytes: mutatedBytes(draw, blobs.get(name)!), times };
}

const TOO_LONG = new Uint8Array(2 ** 24 + 100);

/** A remote store, which may return something else for each download. */
function forgedBackend(): Backend {
  const download = (name: string): Uint8Array => {
    let bytes: Uint8Array | undefined = forgery.blobs.get(name);
    if (alteration?.name === name && alteration.times-- > 0) ({ bytes } = alteration);
    if (bytes === undefined) throw new StorageError("not-found", `no blob ${name}`);
    return bytes;
  };
  const unexpected = async (): Promise<never> => {
    throw new Error("reading must not write");
  };
  return {
    description: "forged",
    async get(name, buffer) {
      const bytes = download(name);
      if (bytes.length > buffer.length) throw new StorageError("limit", `${name} is too long`);
      buffer.set(bytes);
      return bytes.length;
    },
    async getRange(name, offset, buffer) {
      const bytes = download(name).subarray(offset, offset + buffer.length);
      buffer.set(bytes);
      return bytes.length;
    },
    async head(name) {
      const bytes = forgery.blobs.get(name);
      return bytes && { size: bytes.length };
    },
    async *list() {
      for (const [name, { length }] of forgery.blobs) yield { name, size: length };
    },
    put: unexpected,
    delete: unexpected,
  };
}

async function scanAll(reader: Store): Promise<void> {
  for await (const blob of reader.scan()) {
    if (blob.kind !== "failed") continue;
    const { error } = blob;
    if (!(error instanceof StorageError && INTEGRITY.has(error.code))) throw error;
  }
}

async function readContent(
  draw: Draw,
  reader: Store,
  sound: Uint8Array | undefined,
): Promise<void> {
  const range = draw.oneIn(3) ? drawRange(draw) : undefined;
  const options: GetOptions = range === undefined ? {} : { range };
  const content = await reader.get(forgery.root, options);
  const fields = expectCanonicalRoot();
  expectRules(fields);
  const n = fields.get("n") as number;
  const { start, end } = range ?? { start: 0, end: n };
  const encoded = content.metadata["enc"] !== undefined;

  const { released, complete, fault } = await release(draw, content);
  if (!encoded) {
    expectReleased(fields, start, Math.min(end, n), released);
    if (complete) expect(released.length).toBe(end - start);
  } else if (complete) expect(released.length).toBe(content.size);
  if (sound !== undefined && complete) {
    const expected = encoded ? sound : sound.subarray(start, end);
    expect(Buffer.compare(released, expected)).toBe(0);
  }
  if (fault !== undefined) throw fault;
}

function drawRange(draw: Draw): { start: number; end: number } {
  const points = [draw.upTo(6 * CHUNK), draw.pick([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK])];
  return { start: Math.min(...points), end: Math.max(...points) };
}

/** Reads by one of the ways there are, up to a limit or a fault. */
async function release(
  draw: Draw,
  content: StoredContent,
): Promise<{ released: Uint8Array; complete: boolean; fault?: Error }> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    if (draw.oneIn(3)) {
      return { released: await content.bytes({ maxBytes: READ_MAX }), complete: true };
    }
    const from: AsyncIterable<Uint8Array> = draw.oneIn(2) ? content.chunks() : content.stream();
    for await (const piece of from) {
      pieces.push(new Uint8Array(piece));
      length += piece.length;
      if (length > READ_MAX) return { released: Buffer.concat(pieces), complete: false };
    }
    return { released: Buffer.concat(pieces), complete: true };
  } catch (error) {
    return { released: Buffer.concat(pieces), complete: false, fault: asError(error) };
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error("not an Error was thrown", { cause: error });
}

/** The header of an accepted blob is the only encoding of what it holds. */
function expectCanonicalHeader(blob: Uint8Array): void {
  const { header } = splitEnvelope(blob);
  const map = decodeCbor(header) as Map<string, Item>;
  expect(Buffer.compare(header, independentCbor(map))).toBe(0);
  expect([["c"], ["c", "e", "w"]]).toContainEqual([...map.keys()]);
}

/** So is the plaintext of an accepted root, followed by zeros. */
function expectCanonicalRoot(): Map<string, Item> {
  const { rootPlaintext: bytes, blobs, root, contentKey } = forgery;
  expectCanonicalHeader(blobs.get(root)!);
  const header = decodeCbor(splitEnvelope(blobs.get(root)!).header);
  const commitment = hkdfSync("sha256", contentKey, "", "idk/v1/commit", 32);
  expect(header.get("c")).toEqual(new Uint8Array(commitment));
  const end = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const map = decodeCbor(bytes.subarray(4, end)) as Map<string, Item>;
  expect(Buffer.compare(bytes.subarray(4, end), independentCbor(map))).toBe(0);
  expect(bytes.subarray(end).every((byte) => byte === 0)).toBe(true);
  expect([...map.keys()]).toEqual(["b", "d", "k", "m", "n", "p"]);
  return map;
}

/** The rules of docs/format.md, section 8, in arithmetic that does not round. */
function expectRules(fields: Map<string, Item>): void {
  const [d, k, n, p] = ["d", "k", "n", "p"].map((key) => BigInt(fields.get(key) as number));
  const { length } = fields.get("b") as Uint8Array;
  expect(p! <= n! && n! + p! <= BigInt(Number.MAX_SAFE_INTEGER)).toBe(true);
  expect(d === 0n).toBe(n! <= 2n ** 20n);
  if (d === 0n) {
    expect([k, p, n]).toEqual([0n, 0n, BigInt(length)]);
    return;
  }
  expect(k! >= 18n && k! <= 24n).toBe(true);
  let [count, levels] = [(n! + p! + 2n ** k! - 1n) / 2n ** k!, 1n];
  while (count > 4096n) [count, levels] = [(count + 4095n) / 4096n, levels + 1n];
  expect([d, BigInt(length)]).toEqual([levels, 64n * count]);
  expect(independentCbor(fields.get("m")!).length).toBeLessThanOrEqual(65_536);
}

/** What was released is the start of what the references of the root lead to. */
function expectReleased(
  fields: Map<string, Item>,
  start: number,
  end: number,
  released: Uint8Array,
): void {
  expect(released.length).toBeLessThanOrEqual(Math.max(0, end - start));
  if (released.length === 0) return;
  const [b, d] = [fields.get("b") as Uint8Array, fields.get("d") as number];
  if (d === 0) {
    expect(Buffer.compare(released, b.subarray(start, start + released.length))).toBe(0);
    return;
  }
  const chunk = 2 ** (fields.get("k") as number);
  for (let at = 0; at < released.length;) {
    const [index, offset] = [Math.floor((start + at) / chunk), (start + at) % chunk];
    const leaf = leafAt(b, d, index);
    const expected = leaf?.subarray(offset, Math.min(leaf.length, offset + released.length - at));
    if (expected === undefined || expected.length === 0) {
      throw new Error(`released ${released.length} bytes; none were sealed from byte ${at} on`);
    }
    if (Buffer.compare(released.subarray(at, at + expected.length), expected) !== 0) {
      throw new Error(`released bytes other than those sealed, from byte ${at} on`);
    }
    at += expected.length;
  }
}

/** What a leaf was sealed from, if it was sealed as a leaf and with the key of its reference. */
function leafAt(body: Uint8Array, level: number, index: number): Uint8Array | undefined {
  let [references, at] = [body, index];
  for (let below = level; below >= 1; below--) {
    const span = 4096 ** (below - 1);
    const reference = references.subarray(64 * Math.floor(at / span)).subarray(0, 64);
    if (reference.length < 64) return undefined;
    const child = forgery.children.get(Buffer.from(reference.subarray(0, 32)).toString("hex"));
    const kind = below === 1 ? "leaf" : "node";
    if (child?.kind !== kind) return undefined;
    if (Buffer.compare(child.contentKey, reference.subarray(32)) !== 0) return undefined;
    if (below === 1) return child.plaintext;
    [references, at] = [child.plaintext, at % span];
  }
  return undefined;
}
