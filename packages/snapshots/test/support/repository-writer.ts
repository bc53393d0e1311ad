/* oxlint-disable oxc/no-map-spread -- what tests store is small */
import { type Address, type Backend, type NaCl, type Recipient, loadNaCl } from "@idk/storage";
import { type Entry } from "../../src/format/tree/entry.ts";
import { encodeZstdFrame, sealRoot } from "@idk/storage/blobs";
import { type Head, encodeHead, encodePayload } from "../../src/format/records/head.ts";
import { type Marker, formatMarker } from "../../src/format/names/marker.ts";
import { type RootNode, type Snapshot, encodeSnapshot } from "../../src/format/records/snapshot.ts";
import { type Row, encodeRow } from "../../src/format/packs/row.ts";
import { type WriterKey, signPayload } from "../../src/format/keys/writer.ts";
import { createHash, randomBytes } from "node:crypto";
import { encodeMetadataPack, metadataPackLength } from "../../src/format/packs/metadata-pack.ts";
import { packLength, sealPack } from "../../src/format/packs/pack.ts";
import type { ContentItem } from "../../src/format/tree/content.ts";
import { RECORD_TYPES } from "../../src/format/records/types.ts";
import type { RepositoryId, SessionId } from "../../src/format/names/identifiers.ts";
import { chainOf } from "../../src/format/names/chain.ts";
import { encodeNode } from "../../src/format/tree/node.ts";
import { treeId } from "../../src/format/tree/tree-id.ts";

/** A folder: files as bytes, a list of segments (numbers are holes), folders, or entries. */
export type Folder = { readonly [name: string]: Item };
export type Item = Uint8Array | readonly (Uint8Array | number)[] | Folder | Partial<Entry> | string;

export const naCl: NaCl = await loadNaCl();

const COMMON = {
  mode: 0o644,
  uid: 1000,
  gid: 1000,
  mtime: { seconds: 1_700_000_000, nanoseconds: 5 },
  extra: {},
} as const;

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A session that stores packs one after the other, and does as it is told, also what is wrong. */
export interface TestSession {
  readonly id: SessionId;
  readonly secret: Uint8Array;
  /** The session key blob. */
  sessionKey(): Uint8Array;
  dataPack(content: Uint8Array): Promise<Row>;
  /** Seals and stores any plaintext as a pack. */
  store(sort: "data" | "meta", plaintext: Uint8Array): Promise<Row>;
  metadataPack(): PackBuilder;
}

interface PackBuilder {
  rowNumber(row: Row): number;
  readonly length: number;
  readonly rowCount: number;
  append(part: Uint8Array): { offset: number; length: number };
  seal(): Promise<Row>;
}

export function testSession(
  backend: Backend,
  recipients: readonly Recipient[],
  id: SessionId = randomBytes(16).toString("hex") as SessionId,
): TestSession {
  const session = {
    id,
    secret: new Uint8Array(randomBytes(32)),
  };
  const store = async (sort: "data" | "meta", plaintext: Uint8Array): Promise<Row> => {
    const random = new Uint8Array(randomBytes(32));
    const { row, blob } = sealPack(naCl, session, sort, { plaintext, random });
    await backend.put(row.address, blob);
    return row;
  };
  return {
    ...session,
    sessionKey: () => sealRoot(naCl, { content: session.secret, recipients }).blob,
    async dataPack(content: Uint8Array): Promise<Row> {
      const plaintext = new Uint8Array(packLength("data", content.length, true));
      plaintext.set(content);
      return store("data", plaintext);
    },
    store,
    metadataPack() {
      const rows: Row[] = [];
      const parts: Uint8Array[] = [];
      let length = 0;
      return {
        rowNumber(row: Row): number {
          const known = rows.findIndex(
            ({ address, session: of }) => address === row.address && of === row.session,
          );
          return known === -1 ? rows.push(row) : known + 1;
        },
        get length() {
          return length;
        },
        get rowCount() {
          return rows.length + 1;
        },
        append(part: Uint8Array): { offset: number; length: number } {
          parts.push(part);
          length += part.length;
          return { offset: length - part.length, length: part.length };
        },
        async seal(): Promise<Row> {
          const frame = encodeZstdFrame(new Uint8Array(Buffer.concat(parts)));
          const used = metadataPackLength(rows.length + 1, frame.length);
          const encoded = rows.map((row) => encodeRow(row));
          return store("meta", encodeMetadataPack(encoded, frame, packLength("meta", used, true)));
        },
      };
    },
  };
}

export interface StoredTree {
  readonly root: RootNode[];
  readonly treeId: Uint8Array;
  readonly totals: Snapshot["totals"];
}

/**
 * Stores a folder.
 *
 * @param perNode entries in a node, by default all in one
 * @param packEach whether each node has a metadata pack of its own
 */
export async function storeFolder(
  session: TestSession,
  folder: Folder,
  { perNode = Infinity, packEach = false }: { perNode?: number; packEach?: boolean } = {},
): Promise<StoredTree> {
  const totals = { files: 0, directories: 0, bytes: 0, newBytes: 0, storedBytes: 0, errors: 0 };
  let pack = session.metadataPack();
  const data = session.dataPack;

  interface Node {
    readonly row: Row | undefined;
    readonly offset: number;
    readonly length: number;
    readonly name: Uint8Array;
  }

  const contentOf = async (
    segments: readonly (Uint8Array | number)[],
  ): Promise<{
    content: (Omit<ContentItem, "row"> & { row?: Row })[];
    size: number;
    hash: Uint8Array;
  }> => {
    const hash = createHash("sha256");
    const content = [];
    let size = 0;
    for (const segment of segments) {
      const length = typeof segment === "number" ? segment : segment.length;
      size += length;
      hash.update(typeof segment === "number" ? new Uint8Array(segment) : segment);
      if (typeof segment === "number") {
        content.push({ kind: "hole", length } as const);
      } else if (length > 0) {
        const row = await data(segment);
        content.push({
          kind: "piece",
          row,
          offset: 0,
          stored: length,
          length,
          encoding: "raw",
        } as const);
      }
    }
    return { content, size, hash: new Uint8Array(hash.digest()) };
  };

  const isFolder = (item: Item): item is Folder =>
    typeof item === "object" &&
    !(item instanceof Uint8Array) &&
    !Array.isArray(item) &&
    !("type" in item);

  const directory = async (inner: Folder): Promise<{ nodes: Node[]; hash: Uint8Array }> => {
    const names = Object.keys(inner).toSorted((a, b) => Buffer.compare(bytes(a), bytes(b)));
    const makers: (() => Entry)[] = [];
    for (const text of names) {
      const item = inner[text]!;
      const common = { ...COMMON, name: bytes(text) };
      if (typeof item === "string") {
        totals.files += 1;
        makers.push(() => ({ type: "link", ...common, target: bytes(item) }));
      } else if (isFolder(item)) {
        totals.directories += 1;
        const { nodes, hash } = await directory(item);
        makers.push(() => ({
          type: "directory",
          ...common,
          nodes: nodes.map(({ row, ...node }) => ({ ...node, row: row ? pack.rowNumber(row) : 0 })),
          hash,
        }));
      } else if (item instanceof Uint8Array || Array.isArray(item)) {
        totals.files += 1;
        const { content, size, hash } = await contentOf(item instanceof Uint8Array ? [item] : item);
        totals.bytes += size;
        makers.push(() => ({
          type: "file",
          ...common,
          size,
          content: content.map((piece) =>
            piece.row ? { ...piece, row: pack.rowNumber(piece.row) } : piece,
          ) as ContentItem[],
          hash,
        }));
      } else {
        totals.files += 1;
        makers.push(() => ({ ...common, ...(item as object) }) as Entry);
      }
    }
    const nodes: Node[] = [];
    const all: Entry[] = [];
    for (let at = 0; at < makers.length; at += perNode) {
      const entries = makers.slice(at, at + perNode).map((make) => make());
      all.push(...entries);
      const place = { start: pack.length, rowCount: pack.rowCount };
      const where = pack.append(encodeNode(entries, place));
      let row: Row | undefined;
      if (packEach) {
        row = await pack.seal();
        pack = session.metadataPack();
      }
      nodes.push({ row, ...where, name: entries[0]!.name });
    }
    return { nodes, hash: treeId(all) };
  };

  const { nodes, hash } = await directory(folder);
  const last = nodes.some(({ row }) => row === undefined) ? await pack.seal() : undefined;
  const root = nodes.map(({ row, ...node }) => ({ ...node, row: (row ?? last)! }));
  return { root, treeId: hash, totals };
}

/**
 * Stores directories `a` and `b` of one node, and files `c` and `d` of one pack: `b`, and the second half of
 * `d`, by rows that say that the pack is of another session.
 */
export async function twoRows(session: TestSession, other: SessionId): Promise<StoredTree> {
  const inner: Entry[] = [{ type: "link", ...COMMON, name: bytes("l"), target: bytes("t") }];
  const below = session.metadataPack();
  const node = below.append(encodeNode(inner, { start: 0, rowCount: 1 }));
  const row = await below.seal();
  const data = await session.dataPack(bytes("onetwo"));
  const hash = new Uint8Array(createHash("sha256").update("onetwo").digest());
  const pack = session.metadataPack();
  const foreign = (one: Row): Row => ({ ...one, session: other, salt: new Uint8Array(16) });
  const entries = [row, foreign(row)].map((one, i): Entry => {
    const nodes = [{ row: pack.rowNumber(one), ...node, name: bytes("l") }];
    return { type: "directory", ...COMMON, name: bytes("ab"[i]!), nodes, hash: treeId(inner) };
  });
  const files = [data, foreign(data)].map((one, i): Entry => {
    const piece = { kind: "piece", stored: 3, length: 3, encoding: "raw" } as const;
    const content = [
      { ...piece, row: pack.rowNumber(data), offset: 0 },
      { ...piece, row: pack.rowNumber(one), offset: 3 },
    ];
    return { type: "file", ...COMMON, name: bytes("cd"[i]!), size: 6, content, hash };
  });
  const every = [...entries, ...files];
  const at = pack.append(encodeNode(every, { start: 0, rowCount: pack.rowCount }));
  const root = [{ row: await pack.seal(), ...at, name: bytes("a") }];
  const totals = { files: 4, directories: 2, bytes: 12, newBytes: 0, storedBytes: 0, errors: 0 };
  return { root, treeId: treeId(every), totals };
}

/** What a test's repository consists of. */
export interface TestRepository {
  readonly backend: Backend;
  readonly repository: RepositoryId;
  readonly recipients: readonly Recipient[];
}

/** Seals and stores a record. */
export async function storeRecord(
  { backend, recipients }: TestRepository,
  kind: keyof typeof RECORD_TYPES,
  content: Uint8Array,
): Promise<Address> {
  const root = sealRoot(naCl, { content, recipients, metadata: { type: RECORD_TYPES[kind] } });
  await backend.put(root.address, root.blob);
  return root.address;
}

/** Signs and stores a head with its marker. */
export async function storeHead(
  to: TestRepository,
  key: WriterKey,
  head: Partial<Head> & Pick<Head, "kind" | "name" | "generation">,
  { marker: change, withMarker = true }: { marker?: Partial<Marker>; withMarker?: boolean } = {},
): Promise<Marker> {
  const whole = {
    repository: to.repository,
    chain: chainOf(to.repository, head.name),
    previous: [],
    time: head.generation,
    writer: key.writer,
    expectedSeconds: null,
    message: null,
    tags: [],
    ...head,
  } as unknown as Head;
  const payload = encodePayload(whole);
  const content = encodeHead({ payload, signature: signPayload(key, payload) });
  const address = await storeRecord(to, "head", content);
  const marker = { chain: whole.chain, generation: whole.generation, address, ...change };
  if (withMarker) await to.backend.putMarker!(formatMarker(marker));
  return marker;
}

/** Stores a snapshot of a tree, and its head. */
export async function storeSnapshot(
  to: TestRepository,
  key: WriterKey,
  name: string,
  session: TestSession,
  tree: StoredTree,
  {
    generation,
    change = {},
    head = {},
    sessionKeys,
  }: {
    generation: number;
    change?: Partial<Snapshot>;
    head?: object;
    sessionKeys?: ReadonlyMap<SessionId, Uint8Array>;
  },
): Promise<Marker> {
  const content = encodeSnapshot({
    repository: to.repository,
    chain: chainOf(to.repository, name),
    ...tree,
    sessionKeys: sessionKeys ?? new Map([[session.id, session.sessionKey()]]),
    host: "host",
    user: "user",
    paths: [bytes("/")],
    excludes: [],
    start: generation,
    end: generation,
    ...change,
  });
  const snapshot = await storeRecord(to, "snapshot", content);
  const reach = snapshot;
  return storeHead(to, key, { kind: "snap", name, generation, snapshot, reach, ...head });
}
