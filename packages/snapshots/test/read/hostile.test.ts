/* oxlint-disable oxc/no-map-spread -- what tests store is small */
import { describe, expect, test } from "bun:test";
import { NOW, all, testRepository } from "../support/repositories.ts";
import {
  type Folder,
  type TestSession,
  bytes,
  naCl,
  storeFolder,
  storeHead,
  storeRecord,
  storeSnapshot,
  testSession,
  twoRows,
} from "../support/repository-writer.ts";
import { type CborItem, encodeCborT, encodeZstdFrame, sealRoot } from "@idk/storage/blobs";
import type { DirectoryEntry, Entry } from "../../src/format/tree/entry.ts";
import { entryItem } from "../../src/format/tree/encode-entry.ts";
import { type Row } from "../../src/format/packs/row.ts";
import type { Snapshot, Totals } from "../../src/format/records/snapshot.ts";
import { encodeMetadataPack } from "../../src/format/packs/metadata-pack.ts";
import { encodeNode } from "../../src/format/tree/node.ts";
import { encodeSessionSecrets } from "../../src/format/records/keys.ts";
import { generateIdentity } from "@idk/storage";
import { openRepository } from "../../src/repository/open.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { treeId } from "../../src/format/tree/tree-id.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

type Given = Awaited<ReturnType<typeof testRepository>>;
type Tree = Awaited<ReturnType<typeof storeFolder>>;

async function opened(
  given: Given,
  session: TestSession,
  tree: Tree,
  change: Partial<Snapshot> = {},
) {
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW, change });
  const repository = await given.open();
  for await (const found of repository.snapshots("home")) return openSnapshot(repository, found);
  throw new Error("there is a snapshot");
}

/** What reading all of a tree fails with. */
async function faultOf(
  build: (session: TestSession) => Promise<Tree>,
  change: Partial<Snapshot> = {},
): Promise<string> {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  try {
    const snapshot = await opened(given, session, await build(session), change);
    for (const { entry, path } of await all(snapshot.entries("", { recursive: true }))) {
      if (entry.type === "file") await all(snapshot.content(path));
    }
    return "ok";
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`;
  }
}

const COMMON = {
  mode: 0o755,
  uid: 0,
  gid: 0,
  mtime: { seconds: 0, nanoseconds: 0 },
  extra: {},
} as const;
const link = (name: string): Entry => ({
  type: "link",
  ...COMMON,
  name: bytes(name),
  target: bytes("t"),
});
const directory = (
  name: string,
  nodes: DirectoryEntry["nodes"],
  inner: readonly Entry[],
): Entry => ({
  type: "directory",
  ...COMMON,
  name: bytes(name),
  nodes,
  hash: treeId(inner),
});
const many = { files: 10 ** 9, directories: 10 ** 9, bytes: 10 ** 12 };
const totalsOf = (totals: Partial<Totals>): Totals => ({
  files: 0,
  directories: 0,
  bytes: 0,
  newBytes: 0,
  storedBytes: 0,
  errors: 0,
  ...totals,
});

/** One metadata pack of nodes as bytes, the last of which is the root directory's. */
async function packed(
  session: TestSession,
  nodes: readonly { readonly items: CborItem; readonly first: string }[],
  id: Uint8Array,
  totals: Partial<Totals> = many,
): Promise<Tree> {
  const pack = session.metadataPack();
  let at = { offset: 0, length: 0 };
  for (const { items } of nodes) at = pack.append(encodeCborT(items));
  const row = await pack.seal();
  const name = bytes(nodes.at(-1)!.first);
  return { root: [{ row, ...at, name }], treeId: id, totals: totalsOf(totals) };
}

describe("a tree that an allowed writer made ends in an error that names the fault", () => {
  const folder: Folder = { a: bytes("12345"), d: { b: bytes("67") } };
  const announced = async (wrong: Partial<Totals>) =>
    faultOf(async (session) => {
      const tree = await storeFolder(session, folder);
      return { ...tree, totals: { ...tree.totals, ...wrong } };
    });

  test("wrong totals", async () => {
    expect(await announced({})).toBe("ok");
    expect(await announced({ files: 1 })).toContain("tree: the snapshot has more files");
    expect(await announced({ files: 3 })).toContain("tree: the snapshot has fewer files");
    expect(await announced({ directories: 0 })).toContain("more directories");
    expect(await announced({ directories: 2 })).toContain("fewer directories");
    expect(await announced({ bytes: 6 })).toContain("more bytes");
    expect(await announced({ bytes: 8 })).toContain("fewer bytes");
  });

  test("a wrong tree id, also of a directory that is cut or empty", async () => {
    const wrongRoot = async (what: Folder, options = {}) =>
      faultOf(async (session) => ({
        ...(await storeFolder(session, what, options)),
        treeId: new Uint8Array(32),
      }));
    expect(await wrongRoot(folder)).toContain("what its tree id says");
    expect(await wrongRoot(folder, { perNode: 1 })).toContain("what its tree id says");
    expect(await wrongRoot({})).toContain("what its tree id says");
  });

  test("a bomb of directories within directories ends where it exceeds what it announces", async () => {
    const fault = await faultOf(async (session) => {
      const pack = session.metadataPack();
      let entries: Entry[] = [link("l")];
      let at = pack.append(encodeNode(entries, { start: 0, rowCount: 1 }));
      // Each level has the one below sixteen times: 16^20 entries in a few kB.
      for (let level = 0; level < 20; level++) {
        const nodes = [{ row: 0, ...at, name: entries[0]!.name }];
        const inner = entries;
        entries = Array.from({ length: 16 }, (_, i) =>
          directory(String.fromCharCode(97 + i), nodes, inner),
        );
        at = pack.append(encodeNode(entries, { start: pack.length, rowCount: 1 }));
      }
      const row = await pack.seal();
      const root = [{ row, ...at, name: bytes("a") }];
      return { root, treeId: treeId(entries), totals: totalsOf({ ...many, directories: 5000 }) };
    });
    expect(fault).toContain("tree: the snapshot has more directories than the 5000");
  });

  test("directories more than 4,096 deep", async () => {
    const deep = async (levels: number) =>
      faultOf(async (session) => {
        const pack = session.metadataPack();
        let entries: Entry[] = [link("l")];
        let at = pack.append(encodeNode(entries, { start: 0, rowCount: 1 }));
        for (let level = 0; level < levels; level++) {
          const nodes = [{ row: 0, ...at, name: entries[0]!.name }];
          entries = [directory("d", nodes, entries)];
          at = pack.append(encodeNode(entries, { start: pack.length, rowCount: 1 }));
        }
        const row = await pack.seal();
        const root = [{ row, ...at, name: entries[0]!.name }];
        return {
          root,
          treeId: treeId(entries),
          totals: totalsOf({ files: 1, directories: levels }),
        };
      });
    expect(await deep(4096)).toBe("ok");
    expect(await deep(4097)).toContain("tree: the tree is deeper than 4096");
  });

  test("cycles and forward references within a pack", async () => {
    const refers = async (offset: number, length: number) =>
      faultOf(async (session) => {
        const loop = directory("d", [{ row: 0, offset, length, name: bytes("d") }], []);
        return packed(session, [{ items: [entryItem(loop)], first: "d" }], treeId([loop]));
      });
    expect(await refers(0, 80)).toContain("not to what lies before it");
    expect(await refers(100, 80)).toContain("not to what lies before it");
    // Beyond the frame, but in a row that exists.
    const beyond = await faultOf(async (session) => {
      const [other] = (await storeFolder(session, { x: "y" })).root;
      const pack = session.metadataPack();
      const row = pack.rowNumber(other!.row);
      const away = directory("d", [{ row, offset: 4000, length: 9, name: bytes("x") }], []);
      const at = pack.append(encodeNode([away], { start: 0, rowCount: pack.rowCount }));
      const root = [{ row: await pack.seal(), ...at, name: bytes("d") }];
      return { root, treeId: treeId([away]), totals: totalsOf(many) };
    });
    expect(beyond).toContain("tree: a node or list lies beyond the end of the metadata pack");
  });

  test.each([["a/b"], [".."], ["."], [""], ["a\0b"]])("a name %p", async (name) => {
    const entries = [{ ...link("x"), name: bytes(name) }];
    const fault = await faultOf(async (session) =>
      packed(session, [{ items: entries.map(entryItem), first: "x" }], treeId(entries)),
    );
    expect(fault).toStartWith("tree: the node is malformed: a name");
  });

  test("duplicate names, within a node and across nodes", async () => {
    const twice = [link("a"), link("a")];
    expect(
      await faultOf(async (session) =>
        packed(session, [{ items: twice.map(entryItem), first: "a" }], treeId(twice)),
      ),
    ).toContain("two have one name");
    const across = await faultOf(async (session) => {
      const pack = session.metadataPack();
      const [first, second] = [[link("a"), link("c")], [link("b")]];
      const place = { start: 0, rowCount: 1 };
      const ats = [first, second].map((entries) => pack.append(encodeNode(entries, place)));
      const row = await pack.seal();
      const root = ats.map((at, i) => ({ row, ...at, name: bytes("ab"[i]!) }));
      return { root, treeId: treeId([...first, ...second]), totals: totalsOf({ files: 3 }) };
    });
    expect(across).toContain("tree: the nodes of a directory overlap");
  });

  test("a node that begins with another name than announced", async () => {
    const fault = await faultOf(async (session) => {
      const tree = await storeFolder(session, { b: "x" });
      return { ...tree, root: [{ ...tree.root[0]!, name: bytes("a") }] };
    });
    expect(fault).toContain("another name than announced");
  });

  test("content with another hash, and its last bytes are not released", async () => {
    const given = await testRepository();
    const session = testSession(given.backend, given.recipients);
    const row = await session.dataPack(bytes("content"));
    const pack = session.metadataPack();
    const piece = {
      kind: "piece",
      row: pack.rowNumber(row),
      offset: 0,
      stored: 7,
      length: 7,
      encoding: "raw",
    } as const;
    const file: Entry = {
      type: "file",
      ...COMMON,
      name: bytes("f"),
      size: 7,
      content: [piece],
      hash: new Uint8Array(32),
    };
    const at = pack.append(encodeNode([file], { start: 0, rowCount: 2 }));
    const root = [{ row: await pack.seal(), ...at, name: bytes("f") }];
    const tree = { root, treeId: treeId([file]), totals: totalsOf({ files: 1, bytes: 7 }) };
    const snapshot = await opened(given, session, tree);
    const released: Uint8Array[] = [];
    const read = async () => {
      for await (const part of snapshot.content("f")) released.push(part);
    };
    expect(read()).rejects.toMatchObject({ code: "tree" });
    await read().catch(() => undefined);
    expect(released).toEqual([]);
  });

  test("a metadata pack whose frame decodes to more than allowed", async () => {
    const fault = await faultOf(async (session) => {
      const frame = encodeZstdFrame(new Uint8Array(2 ** 22 + 1));
      const row: Row = await session.store("meta", encodeMetadataPack([], frame, 4096));
      return {
        root: [{ row, offset: 0, length: 9, name: bytes("a") }],
        treeId: new Uint8Array(32),
        totals: totalsOf(many),
      };
    });
    expect(fault).toStartWith("tree: the metadata pack is malformed");
  });

  test("a metadata pack that is longer than any", async () => {
    const fault = await faultOf(async (session) => {
      const row: Row = await session.store("meta", new Uint8Array(2 ** 20 + 1));
      return {
        root: [{ row, offset: 0, length: 9, name: bytes("a") }],
        treeId: new Uint8Array(32),
        totals: totalsOf(many),
      };
    });
    expect(fault).toStartWith("tree: the metadata pack");
  });

  test("one pack by two rows, the second with another session", async () => {
    const given = await testRepository();
    const [session, other] = [0, 1].map(() => testSession(given.backend, given.recipients));
    const tree = await twoRows(session!, other!.id);
    const keys = [session!, other!].map((one) => [one.id, one.sessionKey()] as const);
    const snapshot = await opened(given, session!, tree, { sessionKeys: new Map(keys) });
    expect((await all(snapshot.entries("a"))).length).toBe(1);
    // Not answered from memory.
    expect(all(snapshot.entries("b"))).rejects.toMatchObject({ code: "commit" });
    const file = async (name: string) => all(snapshot.content(name));
    expect(Buffer.concat(await file("c"))).toEqual(Buffer.from("onetwo"));
    expect(file("d")).rejects.toMatchObject({ code: "commit" });
  });

  test("a snapshot of another name or repository than its head", async () => {
    const build = async (session: TestSession) => storeFolder(session, folder);
    expect(await faultOf(build, { chain: "0".repeat(32) as never })).toContain(
      "another repository or name",
    );
    expect(await faultOf(build, { repository: "0".repeat(32) as never })).toContain(
      "another repository",
    );
  });
});

test("a reader that joined later reads with the keys that someone gave it", async () => {
  const given = await testRepository();
  const late = await generateIdentity();
  const session = testSession(given.backend, given.recipients);
  const tree = await storeFolder(session, { a: bytes("hello") });
  // Heads and snapshot for both, the key of the session for the first only.
  const both = { ...given, recipients: [...given.recipients, late.recipient] };
  await storeSnapshot(both, given.owner, "home", session, tree, { generation: NOW });
  const empty = { graceSeconds: 604_800, rules: [] };
  await storeHead(both, given.owner, {
    kind: "repo",
    name: "",
    generation: NOW,
    settings: empty,
  } as never);
  const read = async () => {
    const repository = await openRepository({
      backend: given.backend,
      identities: [late],
      pinned: given.pinned,
      memory: volatileHeadMemory(),
    });
    for await (const found of repository.snapshots("home")) {
      const snapshot = await openSnapshot(repository, found);
      return Buffer.concat(await all(snapshot.content("a"))).toString();
    }
    return "none";
  };
  expect(read()).rejects.toMatchObject({ code: "no-match" });
  const secrets = new Map([[session.id, session.secret]]);
  const { repository } = given;
  const keys = await storeRecord(both, "keys", encodeSessionSecrets({ repository, secrets }));
  await storeHead(both, given.owner, { kind: "keys", name: ".", generation: NOW, keys } as never);
  expect(await read()).toBe("hello");
  // A newer one with a wrong secret shows as `commit`.
  const wrong = new Map([[session.id, new Uint8Array(32)]]);
  const bad = await storeRecord(both, "keys", encodeSessionSecrets({ repository, secrets: wrong }));
  await storeHead(both, given.owner, {
    kind: "keys",
    name: ".",
    generation: NOW + 1,
    keys: bad,
  } as never);
  expect(read()).rejects.toMatchObject({ code: "commit" });
});

test("what a snapshot has as a session's key must be one", async () => {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  const tree = await storeFolder(session, { a: bytes("hello") });
  const content = new Uint8Array(31);
  const key = sealRoot(naCl, { content, recipients: given.recipients }).blob;
  const snapshot = await opened(given, session, tree, {
    sessionKeys: new Map([[session.id, key]]),
  });
  expect(all(snapshot.entries(""))).rejects.toMatchObject({ code: "tree" });
});
