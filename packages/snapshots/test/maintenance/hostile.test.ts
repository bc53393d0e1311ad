import {
  type Address,
  type Backend,
  createStore,
  formatIdentity,
  generateIdentity,
} from "@idk/storage";
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { bytes, naCl, storeFolder, storeHead, testSession } from "../support/repository-writer.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { RECORD_TYPES } from "../../src/format/records/types.ts";
import type { Repository } from "../../src/repository/repository.ts";
import type { StorageError } from "@idk/storage";
import { chainOf } from "../../src/format/names/chain.ts";
import { createRepository } from "../../src/repository/settings.ts";
import { encodeReach } from "../../src/format/records/reach.ts";
import { filesystem } from "@idk/storage/filesystem";
import { formatMarker } from "../../src/format/names/marker.ts";
import { join } from "node:path";
import { ownerKeyOf, writerKeyFromSeed } from "../../src/format/keys/writer.ts";
import { packReader } from "../../src/read/pack-reader.ts";
import { storeBackup } from "../support/abstract-backup.ts";
import { tmpdir } from "node:os";
import { type TreeFindings, treeChecker } from "../../src/maintenance/check/check-trees.ts";
import type { ContentItem } from "../../src/format/tree/content.ts";
import { encodeNode } from "../../src/format/tree/node.ts";
import { encodePieceList } from "../../src/format/tree/encode-content.ts";
import { treeId } from "../../src/format/tree/tree-id.ts";
import { treeReader } from "../../src/read/tree.ts";
import { memory } from "@idk/storage/memory";

setDefaultTimeout(120_000);
const place = mkdtempSync(join(tmpdir(), "idk-hostile-"));
afterAll(() => rmSync(place, { recursive: true }));
const MEMORY_MAX = 256 * 2 ** 20;

/** Addresses that nothing has, in order. */
function madeUp(count: number, last: number): Uint8Array {
  const list = new Uint8Array(32 * count);
  const view = new DataView(list.buffer);
  for (let i = 0; i < count; i++) {
    view.setUint32(32 * i, i);
    view.setUint32(32 * i + 28, last);
  }
  return list;
}

/** A repository in a new folder, one writer that the owner allows, and a reach that is whole. */
async function repositoryIn(name: string) {
  const folder = join(place, name);
  const backend = filesystem(folder, { durability: "none" });
  const identity = await generateIdentity();
  const owner = ownerKeyOf(identity);
  const recipients = [identity.recipient];
  const web = writerKeyFromSeed(new Uint8Array(32).fill(2));
  const rules = [
    { writer: web.writer, pattern: "web", mayForget: false, lastGeneration: null },
  ] as const;
  const pinned = await createRepository({ backend, owner, recipients, rules });
  const to = { backend, recipients, repository: pinned.repository };
  const start = Date.now();
  const good = await storeBackup(to, owner, "home", {
    generation: start,
    packs: [],
    kind: "part",
  });
  const part = { kind: "part", name: "web", reach: good.reaches[0]!.address } as const;
  const run = (command: string) => {
    const script = join(import.meta.dir, "hostile-runner.ts");
    const given = [folder, formatIdentity(identity), JSON.stringify(pinned), command];
    const child = Bun.spawnSync([process.execPath, script, ...given]);
    expect(child.stderr.toString()).toBe("");
    const result = JSON.parse(child.stdout.toString()) as { errors: string[]; peak: number };
    if (process.env["IDK_TEST_PEAKS"] === "1")
      process.stderr.write(`${command}: ${result.peak / 2 ** 20} MiB\n`);
    return result;
  };
  return { to, web, start, part, run };
}

test("an allowed writer cannot make prune, check and recover take much memory", async () => {
  const { to, web, start, part, run } = await repositoryIn("reaches");
  const { backend, recipients } = to;
  // Reaches and heads that are as long as can be.
  const store = createStore({ backend, recipients, nacl: naCl, workers: 0 });
  const putReach = async (earlier: readonly Address[], last: number) =>
    store.put(encodeReach({ earlier, added: madeUp(800_000, last), dropped: new Uint8Array(0) }), {
      metadata: { type: RECORD_TYPES.reach },
    });
  const earlier: Address[] = [];
  for (let i = 0; i < 4; i++) earlier.push(await putReach([], i));
  const reach = await putReach(earlier, 4);
  const markers = [await storeHead(to, web, { ...part, generation: start, reach })];
  const message = "x".repeat(1_000_000);
  for (let i = 1; i <= 60; i++) {
    markers.push(await storeHead(to, web, { ...part, generation: start + i, message }));
  }
  const head = markers[0]!.address;
  for (const command of ["prune", "check", "recover"]) {
    if (command === "recover") {
      for (const marker of markers) await backend.deleteMarker!(formatMarker(marker));
    }
    const { errors, peak } = run(command);
    expect([command, errors.length]).toEqual([command, 1]);
    expect(errors[0]).toStartWith("limit: ");
    expect(errors[0]).toMatch(/8000\d\d packs are claimed, and the store has \d+ blobs/u);
    if (command === "prune") expect(errors[0]).toContain(head);
    expect(peak).toBeLessThan(MEMORY_MAX);
  }
});

test("many heads with long lists do not take much memory either", async () => {
  const { to, web, start, part, run } = await repositoryIn("heads");
  const markers = [];
  for (let i = 1; i <= 2000; i++) {
    const previous = Array.from({ length: 64 }, (_, n) => {
      return (i * 64 + n).toString(16).padStart(64, "0") as Address;
    });
    const tags = Array.from({ length: 1365 }, (_, n) => (n + 36 ** 2).toString(36));
    markers.push(await storeHead(to, web, { ...part, generation: start + i, previous, tags }));
  }
  for (const command of ["prune", "forget", "check", "recover"]) {
    if (command === "recover") {
      for (const marker of markers) await to.backend.deleteMarker!(formatMarker(marker));
    }
    const { errors, peak } = run(command);
    expect([command, errors]).toEqual([command, []]);
    expect(peak).toBeLessThan(MEMORY_MAX);
  }
});

type Session = ReturnType<typeof testSession>;
type Row = Awaited<ReturnType<Session["dataPack"]>>;

/** A reader of trees, which counts the piece lists that it reads. */
function countingReader(backend: Backend, { secret }: Session) {
  const repository = { backend, naCl } as unknown as Repository;
  const reader = treeReader(packReader(repository, { secretOf: async () => secret }));
  let read = 0;
  const list: typeof reader.list = async (...given) => {
    read += 1;
    return reader.list(...given);
  };
  return { reader: { ...reader, list }, listsRead: () => read };
}

/** A metadata pack for piece lists, and a piece that they can have. */
async function pieceLists(session: Session) {
  const data = await session.dataPack(bytes("x"));
  const lists = session.metadataPack();
  const place = { row: lists.rowNumber(data), offset: 0, stored: 1, length: 1 };
  const one: ContentItem = { kind: "piece", ...place, encoding: "raw" };
  const listOf = (items: readonly ContentItem[], levels: number): ContentItem => {
    const start = { start: lists.length, rowCount: lists.rowCount };
    const at = lists.append(encodePieceList(items, start, levels));
    const length = items.reduce((sum, item) => sum + item.length, 0);
    return { kind: "list", row: 0, offset: at.offset, stored: at.length, length };
  };
  return { data, one, listOf, sealLists: async () => lists.seal() };
}

/** A tree of files with the same content: piece lists of one pack. */
async function treeOfFiles(
  session: Session,
  names: readonly string[],
  row: Row,
  lists: readonly ContentItem[],
) {
  const pack = session.metadataPack();
  const content = lists.map((list) => ({ ...list, row: pack.rowNumber(row) }) as ContentItem);
  const hash = new Uint8Array(32);
  const mtime = { seconds: 0, nanoseconds: 0 };
  const common = { type: "file", mode: 0o644, uid: 0, gid: 0, mtime, extra: {}, hash } as const;
  const size = content.reduce((sum, { length }) => sum + length, 0);
  const files = names.map((name) => ({ ...common, size, content, name: bytes(name) }));
  const at = pack.append(encodeNode(files, { start: 0, rowCount: pack.rowCount }));
  const root = [{ row: await pack.seal(), ...at, name: bytes(names[0]!) }];
  const totals = { files: names.length, directories: 0, bytes: names.length * size };
  return { root, treeId: treeId(files), totals, chain: "ab".repeat(16) };
}

test("check goes through piece lists once, however often files name them, and a signal ends it", async () => {
  const backend = memory();
  const { recipient } = await generateIdentity();
  const session = testSession(backend, [recipient]);
  const { data, one, listOf, sealLists } = await pieceLists(session);
  const many = <T>(item: T) => Array.from({ length: 1000 }, () => item);
  const inner = listOf(many(one), 0);
  const outer = listOf(many(inner), 1);
  const row = await sealLists();
  const tree = await treeOfFiles(session, ["a", "b"], row, many(outer));

  const checked = async (bad: Address | undefined, signal?: AbortSignal) => {
    const { reader, listsRead } = countingReader(backend, session);
    const found: string[] = [];
    const textOf = (path: Uint8Array) => Buffer.from(path).toString();
    const findings: TreeFindings = {
      onFault: async (path, { code }) => void found.push(`${code} ${textOf(path)}`),
      isBad: (address) => address === bad,
      onFile: async (path) => void found.push(`bad ${textOf(path)}`),
    };
    const checker = treeChecker(0);
    const { isWhole, packs } = await checker.check(tree as never, reader, findings, signal);
    return {
      read: listsRead(),
      found,
      isWhole,
      packs: [...packs()].length,
      directories: checker.directories,
    };
  };
  const whole = { read: 2, isWhole: true, packs: 3, directories: 1 };
  expect(await checked(undefined)).toEqual({ ...whole, found: [] });
  // Both files are named.
  expect(await checked(data.address)).toEqual({ ...whole, found: ["bad a", "bad b"] });
  const ending = new AbortController();
  setTimeout(() => ending.abort(), 0);
  const ended = await checked(undefined, ending.signal).catch((error: StorageError) => error);
  expect(ended).toMatchObject({ code: "aborted" });
  await backend.delete(row.address);
  const found = ["not-found a", "bad a", "not-found b", "bad b"];
  expect(await checked(row.address)).toEqual({
    read: 1,
    found,
    isWhole: false,
    packs: 2,
    directories: 1,
  });
});

test("a tree that takes too much memory ends in an error, and the next one is checked", async () => {
  const backend = memory();
  const { recipient } = await generateIdentity();
  const given = testSession(backend, [recipient]);
  const stored = new Map<string, ReturnType<typeof given.dataPack>>();
  const dataPack: typeof given.dataPack = async (content) => {
    const key = Buffer.from(content).toString();
    if (!stored.has(key)) stored.set(key, given.dataPack(content));
    return stored.get(key)!;
  };
  const session = { ...given, dataPack };
  const names = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  const many = Object.fromEntries(names(3000, "d").map((name) => [name, { [name]: {} }]));
  const packs = Object.fromEntries(names(1500, "f").map((name) => [name, bytes(name)]));
  // The same packs in directories that are in each other.
  const nested = (depth: number): object => ({
    ...packs,
    z: depth === 0 ? {} : nested(depth - 1),
  });
  const repository = { backend, naCl } as unknown as Repository;
  const reader = packReader(repository, { secretOf: async () => session.secret });
  const chain = chainOf("ab".repeat(16) as never, "x");
  const checked = async (checker: ReturnType<typeof treeChecker>, content: object) => {
    const tree = await storeFolder(session, content as never);
    const errors: StorageError[] = [];
    const result = await checker.check(
      { ...tree, chain } as never,
      treeReader(reader),
      {
        onFault: async (_, error) => void errors.push(error),
        isBad: () => false,
        onFile: async () => undefined,
      },
      undefined,
    );
    return {
      codes: errors.map(({ code }) => code),
      isWhole: result.isWhole,
      n: [...result.packs()],
    };
  };
  const limits = { kept: 2 ** 30, ofOne: 150_000, held: 4000, packs: 2000 };
  const small = { a: { b: bytes("one") }, c: {} };
  for (const hostile of [
    many,
    nested(3),
    { ...packs, d: Object.fromEntries(names(900, "g").map((name) => [name, bytes(name)])) },
  ]) {
    const checker = treeChecker(0, limits);
    expect(await checked(checker, small)).toMatchObject({ codes: [], isWhole: true, n: [0, 1] });
    const before = [checker.packs.length, checker.packs.metadataPacks, checker.directories];
    expect(await checked(checker, hostile)).toEqual({ codes: ["limit"], isWhole: false, n: [] });
    expect([checker.packs.length, checker.packs.metadataPacks, checker.directories]).toEqual(
      before,
    );
    expect(await checked(checker, { ...small, d: bytes("two") })).toMatchObject({
      codes: [],
      isWhole: true,
    });
    // What earlier trees take is not charged to later ones.
    const after = treeChecker(0, limits);
    for (let i = 0; i < 4; i++) {
      const folders = names(700, `d${i}-`).map((name) => [name, { [name]: {} }]);
      expect(await checked(after, Object.fromEntries(folders))).toMatchObject({ codes: [] });
    }
    // Without limits it is a tree like any other.
    expect(await checked(treeChecker(0), hostile)).toMatchObject({ codes: [], isWhole: true });
  }
});

test("a folder may refer to as many packs as the store has", async () => {
  const backend = memory();
  const { recipient } = await generateIdentity();
  const session = testSession(backend, [recipient]);
  const names = Array.from({ length: 1500 }, (_, i) => `f${i}`);
  const folder = Object.fromEntries(names.map((name) => [name, bytes(name)]));
  const tree = { ...(await storeFolder(session, folder)), chain: "ab".repeat(16) };
  const { reader } = countingReader(backend, session);
  const limits = { kept: 2 ** 30, ofOne: 2 ** 30, held: 1000, packs: 2000 };
  const errorsWith = async (blobCount: number): Promise<string[]> => {
    const errors: string[] = [];
    const findings: TreeFindings = {
      onFault: async (_, { message }) => void errors.push(message),
      isBad: () => false,
      onFile: async () => undefined,
    };
    await treeChecker(blobCount, limits).check(tree as never, reader, findings, undefined);
    return errors;
  };
  expect(await errorsWith(1501)).toEqual([]);
  const [error] = await errorsWith(0);
  expect(error).toMatch(
    /\d{4} packs and directories directly in .*, and the store has 0 blobs; restore/u,
  );
});

test("faults of the piece lists of one tree take no room of the next, and are not kept for ever", async () => {
  const backend = memory();
  const { recipient } = await generateIdentity();
  const session = testSession(backend, [recipient]);
  const { data, one, listOf, sealLists } = await pieceLists(session);
  const lists = Array.from({ length: 600 }, () => listOf([one], 0));
  const row = await sealLists();
  const faulty = await Promise.all(
    [0, 1, 2].map(async (i) => {
      return treeOfFiles(session, [`f${i}`], row, lists.slice(200 * i, 200 * (i + 1)));
    }),
  );
  const folders = Array.from({ length: 400 }, (_, i) => [`d${i}`, { [`d${i}`]: {} }]);
  const chain = chainOf("ab".repeat(16) as never, "x");
  const honest = { ...(await storeFolder(session, Object.fromEntries(folders))), chain };

  const { reader, listsRead } = countingReader(backend, session);
  const checked = async (checker: ReturnType<typeof treeChecker>, tree: object) => {
    const before = listsRead();
    const found: string[] = [];
    const findings: TreeFindings = {
      onFault: async (_, { code }) => void found.push(code),
      isBad: (address) => address === data.address,
      onFile: async () => void found.push("bad"),
    };
    await checker.check(tree as never, reader, findings, undefined);
    return { read: listsRead() - before, found };
  };
  // One tree of faulty lists takes over 100,000 bytes, nearly all of them for the faults.
  const limits = { ofOne: 150_000, held: 4000, packs: 2000 };
  const patient = treeChecker(0, { ...limits, kept: 2 ** 30 });
  for (const tree of faulty) {
    expect(await checked(patient, tree)).toEqual({ read: 200, found: ["bad"] });
  }
  expect(await checked(patient, honest)).toEqual({ read: 0, found: [] });
  // It is known, and what is wrong with it was said.
  expect(await checked(patient, faulty[0]!)).toEqual({ read: 0, found: [] });
  const brief = treeChecker(0, { ...limits, kept: 100_000 });
  for (let i = 0; i < 2; i++) {
    expect(await checked(brief, faulty[0]!)).toEqual({ read: 200, found: ["bad"] });
  }
});
