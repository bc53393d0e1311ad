import { type Cache, CacheInUse, openCache } from "../../src/cache/cache.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { isUnchanged, stateOf } from "../../src/cache/record.ts";
import type { CacheRecord } from "../../src/cache/record.ts";
import { Database } from "bun:sqlite";
import { MIGRATIONS } from "../../src/cache/schema.ts";
import type { Step } from "../../src/walk/walk.ts";
import { UnusableCache } from "../../src/cache/database.ts";
import { join } from "node:path";
import { merge } from "../../src/cache/merge.ts";
import { openHost } from "../../src/files/open-host.ts";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";

const host = await openHost();
let base = "";
let count = 0;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "idk-cache-"));
});
afterAll(() => rmSync(base, { recursive: true }));

const newPath = (): string => {
  count += 1;
  mkdirSync(join(base, String(count)));
  return join(base, String(count), "cache.sqlite");
};
const time = { seconds: -5, nanoseconds: 999_999_999 };
const record = (kind: CacheRecord["kind"], name: string, value = ""): CacheRecord => ({
  kind,
  name: Buffer.from(name),
  state: {
    type: "file",
    mode: 0o4755,
    size: 2 ** 40,
    mtime: time,
    ctime: time,
    inode: 2n ** 64n - 1n,
    isRecent: true,
  },
  value: Buffer.from(value),
});
const names = (cache: Cache): string[] =>
  Array.from(cache.records(), ({ kind, name }) => `${kind} ${Buffer.from(name).toString()}`);
const piece = { offset: 0, stored: 1, length: 1, encoding: 0 };
/** Adds a pack of one piece, whose bytes all are the pack's number. */
function addPack(cache: Cache, stored: number): number {
  const pack = cache.newPack();
  cache.addPiece(Buffer.alloc(32, pack), { ...piece, pack });
  cache.addPack(pack, Buffer.alloc(64, pack), stored);
  return pack;
}

/** A cache after one session that stored the piece 1 in the pack 1, of the file SECRET-NAME. */
async function withFirst(path: string): Promise<Cache> {
  const cache = await openCache(path);
  cache.addSession(Buffer.from("session-1"), Buffer.from("key-1"));
  const next = cache.begin();
  const pack = addPack(cache, 1);
  for (const each of [
    record("enter", ""),
    record("entry", "SECRET-NAME", "SECRET-VALUE"),
    record("leave", ""),
  ])
    next.add(each);
  cache.prepare({ marker: Buffer.from("first"), value: Buffer.from("first") }, [pack]);
  cache.commit([Buffer.from("session-1")]);
  return cache;
}

test("what was committed is there again, down to the last bit", async () => {
  const path = newPath();
  (await withFirst(path)).close();
  const cache = await openCache(path);
  expect(cache.setAside).toBeUndefined();
  const { kind, name, state, value } = [...cache.records()][1]!;
  expect({ kind, name, state, value }).toEqual({
    ...record("entry", "SECRET-NAME", "SECRET-VALUE"),
    name: new Uint8Array(Buffer.from("SECRET-NAME")),
    value: new Uint8Array(Buffer.from("SECRET-VALUE")),
  });
  const known = cache.piece(Buffer.alloc(32, 1))!;
  expect(known).toMatchObject(piece);
  expect(cache.pack(known.pack)).toMatchObject({ stored: 1, isCommitted: true });
  expect(Buffer.from(cache.sessionKey(Buffer.from("session-1"))!).toString()).toBe("key-1");
  cache.close();
});

describe("a session that is killed", () => {
  test.each([
    ["opened", "first", undefined],
    ["session", "first", undefined],
    ["pack", "first", undefined],
    ["begun", "first", undefined],
    ["records", "first", undefined],
    ["prepared", "first", "second"],
    ["committed", "second", undefined],
    ["closed", "second", undefined],
  ])("after %s leaves a whole cache", async (step, committed, prepared) => {
    const path = newPath();
    (await withFirst(path)).close();
    const script = join(import.meta.dir, "crash-writer.ts");
    const { signal, stderr } = spawnSync(process.execPath, [script, path, step], {
      encoding: "utf8",
    });
    expect(`${signal} ${stderr}`).toBe("SIGKILL ");
    const cache = await openCache(path);
    const text = (bytes: Uint8Array | undefined): string | undefined =>
      bytes === undefined ? undefined : Buffer.from(bytes).toString();
    expect(text(cache.committed?.marker)).toBe(committed);
    expect(text(cache.prepared?.marker) ?? null).toBe(prepared ?? null);
    if (committed === "first") {
      expect(names(cache)).toEqual(["enter ", "entry SECRET-NAME", "leave "]);
      expect(cache.piece(Buffer.alloc(32, 1))).toBeDefined();
    }
    // The pack that was stored is not lost, and known to be of a session that did not end.
    const second = cache.piece(Buffer.alloc(32, 2));
    // What was noted last may be lost, and is stored again.
    expect(second !== undefined).toBe(!["opened", "session", "pack"].includes(step));
    if (second !== undefined)
      expect(cache.pack(second.pack)!.isCommitted).toBe(committed === "second");
    if (prepared !== undefined) cache.commit([Buffer.from("session-2")]);
    if (committed === "second" || prepared !== undefined) {
      expect(names(cache)).toHaveLength(10_002);
      expect(cache.piece(Buffer.alloc(32, 1))).toBeUndefined();
      expect(cache.sessionKey(Buffer.from("session-1"))).toBeUndefined();
      expect(cache.sessionKey(Buffer.from("session-2"))).toBeDefined();
    }
    cache.close();
  });
});

test("nothing of files that are gone is in any file of the cache", async () => {
  const path = newPath();
  const cache = await withFirst(path);
  const all = (): string =>
    readdirSync(join(path, ".."))
      .map((name) => readFileSync(join(path, "..", name)).toString("latin1"))
      .join("");
  cache.begin();
  cache.use({ pack: 1, offset: 0 }, -1);
  expect(all()).toContain("SECRET-NAME");
  cache.prepare({ marker: Buffer.from("second"), value: Buffer.from("second") }, []);
  cache.commit([]);
  for (const secret of ["SECRET-NAME", "SECRET-VALUE", "\x01".repeat(32), "key-1"]) {
    expect(all().includes(secret)).toBe(false);
  }
  cache.close();
});

test("a part keeps packs, and the session goes on with its records", async () => {
  const path = newPath();
  let cache = await withFirst(path);
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
  const state = (name: string) => ({ marker: Buffer.from(name), value: Buffer.from(name) });
  const next = cache.begin();
  next.add(record("enter", ""));
  const pack = addPack(cache, 2);
  cache.prepare(state("part"), [1, pack], true);
  cache.close();
  // Its marker is listed, although the session did not see it.
  cache = await openCache(path);
  expect(cache.prepared?.isPart).toBe(true);
  cache.commit([]);
  expect(text(cache.committed?.marker)).toBe("part");
  expect(names(cache)).toHaveLength(3);
  expect(cache.pack(pack)?.isCommitted).toBe(true);

  const again = cache.begin();
  for (const kind of ["enter", "leave"] as const) again.add(record(kind, ""));
  cache.use(cache.piece(Buffer.alloc(32, pack))!, 1);
  cache.use({ pack: 1, offset: 0 }, -1);
  cache.prepare(state("part 2"), [pack], true);
  cache.commit([]);
  cache.prepare(state("whole"), [pack]);
  cache.commit([]);
  expect(text(cache.committed?.marker)).toBe("whole");
  expect(names(cache)).toEqual(["enter ", "leave "]);
  expect(cache.piece(Buffer.alloc(32, 1))).toBeUndefined();

  // The file that was used once is gone, and with it the piece.
  cache.begin();
  cache.use({ pack, offset: 0 }, -1);
  cache.prepare(state("none"), [pack]);
  cache.commit([]);
  expect(cache.piece(Buffer.alloc(32, pack))).toBeUndefined();
  cache.close();
});

test("a piece is forgotten if its pack was not stored, and a newer place counts", async () => {
  const path = newPath();
  let cache = await withFirst(path);
  cache.begin();
  const lost = cache.newPack();
  cache.addPiece(Buffer.alloc(32, 9), { ...piece, pack: lost }, Buffer.from("items"));
  expect(Buffer.from(cache.listAt(lost, 0)!).toString()).toBe("items");
  cache.addPiece(Buffer.alloc(32, 1), { ...piece, pack: addPack(cache, 2), offset: 5 });
  cache.close();
  cache = await openCache(path);
  expect(cache.piece(Buffer.alloc(32, 9))).toBeUndefined();
  expect(cache.piece(Buffer.alloc(32, 1))?.offset).toBe(5);
  expect(cache.newPack()).toBeGreaterThan(lost);
  expect(Array.from(cache.packs(), ({ id }) => id)).toEqual([1, lost + 1]);
  cache.close();
});

test("what a file of an interrupted session had is forgotten, though its pack stays", async () => {
  const path = newPath();
  let cache = await withFirst(path);
  cache.begin();
  const pack = cache.newPack();
  for (const [offset, byte] of [8, 9].entries()) {
    cache.addPiece(Buffer.alloc(32, byte), { ...piece, pack, offset });
  }
  cache.addPack(pack, Buffer.alloc(64, 2), 2);
  cache.close();
  cache = await openCache(path);
  cache.begin();
  cache.use({ pack, offset: 0 }, 1);
  cache.prepare({ marker: Buffer.from("2"), value: Buffer.from("2") }, [pack]);
  cache.commit([]);
  expect(cache.piece(Buffer.alloc(32, 8))).toBeDefined();
  expect(cache.piece(Buffer.alloc(32, 9))).toBeUndefined();
  cache.close();
});

test("a record in a chunk is compared as it is when it is decoded", async () => {
  const path = newPath();
  const cache = await withFirst(path);
  const stored = [...cache.records()][1]!;
  const folder = host.openRoot(Buffer.from("/"));
  const { state } = stored;
  const stat = { ...host.statOpen(folder.fd), ...state };
  host.close(folder);
  expect(stored.isUnchanged(stat)).toBe(false);
  for (const name of ["", "SECRET", "SECRET-NAME", "SECRET-NAME-", "T", "A"]) {
    const order = Buffer.compare(Buffer.from("SECRET-NAME"), Buffer.from(name));
    expect(Math.sign(stored.compareName(Buffer.from(name)))).toBe(order);
  }
  const next = cache.begin();
  for (const each of cache.records()) next.add(each);
  const settled = record("entry", "settled");
  next.add({ ...settled, state: { ...settled.state, isRecent: false } });
  cache.prepare({ marker: Buffer.from("2"), value: Buffer.from("2") }, [1]);
  cache.commit([]);
  expect(names(cache)).toEqual(["enter ", "entry SECRET-NAME", "leave ", "entry settled"]);
  const last = [...cache.records()][3]!;
  expect(Array.from(cache.records(last), ({ kind }) => kind)).toEqual(["entry"]);
  expect(last.isUnchanged(stat)).toBe(true);
  const other = { seconds: 1, nanoseconds: 1 };
  const changes = [{ size: 1 }, { inode: 1n }, { mode: 1 }, { mtime: other }, { ctime: other }];
  for (const change of [...changes, { type: "fifo" as const }]) {
    expect(last.isUnchanged({ ...stat, ...change })).toBe(false);
  }
  cache.close();
});

test("one process has it at a time", async () => {
  const path = newPath();
  const cache = await withFirst(path);
  const refused: unknown = await openCache(path).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(CacheInUse);
  cache.close();
  (await openCache(path)).close();
});

describe("a cache that cannot be used", () => {
  /** Changes the bytes of a closed cache. */
  const damage = (path: string, change: (bytes: Buffer) => unknown): void => {
    const bytes = readFileSync(path);
    change(bytes);
    writeFileSync(path, bytes);
  };
  const change = (path: string, sql: string): void => {
    const database = new Database(path);
    database.run(sql);
    database.close();
  };

  test.each([
    [
      "is of a later version",
      "version 99",
      (path: string) => change(path, "PRAGMA user_version = 99"),
    ],
    ["lacks a table", "no such table", (path: string) => change(path, "DROP TABLE chunks")],
    ["is none", "not a database", (path: string) => damage(path, (bytes) => bytes.fill("none, "))],
    // The first page has what SQLite looks at first.
    [
      "has a damaged page",
      "malformed",
      (path: string) => damage(path, (bytes) => bytes.fill(7, 4096)),
    ],
  ])("because it %s is set aside when it is opened, one at most", async (_, why, spoil) => {
    const path = newPath();
    for (let round = 0; round < 2; round += 1) {
      (await withFirst(path)).close();
      spoil(path);
      const cache = await openCache(path);
      expect(cache.setAside).toContain(why);
      expect(cache.setAside).toContain(`${path}.set-aside`);
      expect(cache.committed).toBeUndefined();
      cache.discard();
      cache.close();
      expect(readdirSync(join(path, "..")).toSorted()).toEqual([
        "cache.sqlite",
        "cache.sqlite.set-aside",
      ]);
      rmSync(path);
    }
  });

  test("because of its records says so when they are read", async () => {
    const path = newPath();
    (await withFirst(path)).close();
    damage(path, (bytes) => bytes.write("X", bytes.indexOf("SECRET-VALUE")));
    const cache = await openCache(path);
    expect(() => names(cache)).toThrow(UnusableCache);
    cache.close();
  });

  test("now, because of the system, is good afterwards", async () => {
    const path = newPath();
    (await withFirst(path)).close();
    mkdirSync(`${path}-wal`);
    const refused: unknown = await openCache(path).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Error);
    expect(refused).not.toBeInstanceOf(UnusableCache);
    rmdirSync(`${path}-wal`);
    const cache = await openCache(path);
    expect(cache.setAside).toBeUndefined();
    expect(names(cache)).toHaveLength(3);
    cache.close();
  });

  test.skipIf(process.platform === "win32")(
    "now, because nothing can be written, is good afterwards",
    async () => {
      const path = newPath();
      (await withFirst(path)).close();
      // The system refuses to make files longer than a limit, as if the disk were full.
      const limited = `trap "" XFSZ; ulimit -f 4; exec "$@"`;
      const argv = [
        "bash",
        process.execPath,
        join(import.meta.dir, "crash-writer.ts"),
        path,
        "none",
      ];
      const { status, stderr } = spawnSync("bash", ["-c", limited, ...argv], { encoding: "utf8" });
      expect(status).toBe(1);
      expect(stderr).toMatch(/disk I\/O error|is full/);
      const cache = await openCache(path);
      expect(cache.setAside).toBeUndefined();
      expect(names(cache)).toHaveLength(3);
      cache.close();
    },
  );
});

test("a cache of the first version goes on, and everything is stored anew", async () => {
  const path = newPath();
  const database = new Database(path, { create: true });
  database.run(MIGRATIONS[0]!);
  database.run("INSERT INTO states VALUES (1, 'committed', x'00', x'00')");
  database.run("PRAGMA user_version = 1");
  database.close();
  const cache = await openCache(path);
  expect(cache.setAside).toBeUndefined();
  expect(cache.committed).toBeUndefined();
  cache.close();
  (await withFirst(path)).close();
});

test("a discarded session leaves the one before", async () => {
  const path = newPath();
  const cache = await withFirst(path);
  const next = cache.begin();
  next.add(record("enter", ""));
  cache.use({ pack: 1, offset: 0 }, -1);
  cache.prepare({ marker: Buffer.from("x"), value: Buffer.from("x") }, []);
  cache.discard();
  expect(names(cache)).toHaveLength(3);
  expect(() => cache.commit([])).toThrow("prepared");
  cache.close();
});

describe("what has not changed", () => {
  const folder = host.openRoot(Buffer.from("/"));
  const at = { seconds: 1000, nanoseconds: 0 };
  const stat = { ...host.statOpen(folder.fd), mtime: at, ctime: at };
  host.close(folder);

  test("is what has all of its state, and was not recent when it was read", () => {
    expect(isUnchanged(stat, stateOf(stat, 1_003_001))).toBe(true);
    expect(isUnchanged(stat, stateOf(stat, 1_001_999))).toBe(false);
    expect(isUnchanged(stat, stateOf(stat, 500_000))).toBe(false);
    const state = stateOf(stat, 2_000_000);
    const other = { seconds: 1000, nanoseconds: 1 };
    for (const change of [
      { size: 1 },
      { inode: 1n },
      { mode: 1 },
      { mtime: other },
      { ctime: other },
      { type: "file" as const },
    ]) {
      expect(isUnchanged({ ...stat, ...change }, state)).toBe(false);
    }
  });

  test("is merged with the walk in one pass", () => {
    const step = (text: string): Step => {
      const [kind, name = ""] = text.split(" ") as [CacheRecord["kind"], string?];
      return { kind, name: Buffer.from(name), stat, folder };
    };
    const merged = (walk: string[], cached: string[]): string[] => {
      const records = cached.map((text) => {
        const [kind, name = ""] = text.split(" ") as [CacheRecord["kind"], string?];
        return record(kind, name);
      });
      return Array.from(merge(walk.map(step), records.values()), (each) => {
        if (each.kind === "unreadable") return "?";
        if (each.kind === "gone")
          return `- ${each.before.kind} ${Buffer.from(each.before.name).toString()}`;
        return `${each.before === undefined ? "+" : "="} ${each.step.kind} ${Buffer.from(each.step.name).toString()}`;
      });
    };
    const root = (...inner: string[]): string[] => ["enter", ...inner, "leave"];
    expect(merged(root("entry a", "entry c"), root("entry b", "entry c"))).toEqual([
      "= enter ",
      "+ entry a",
      "- entry b",
      "= entry c",
      "= leave ",
    ]);
    const below = ["enter d", "entry x", "leave d"];
    expect(merged(root(...below), root())).toEqual([
      "= enter ",
      "+ enter d",
      "+ entry x",
      "+ leave d",
      "= leave ",
    ]);
    expect(merged(root("entry e"), root(...below, "entry e"))).toEqual([
      "= enter ",
      "- enter d",
      "- entry x",
      "- leave d",
      "= entry e",
      "= leave ",
    ]);
    // A file became a folder, and the reverse.
    expect(merged(root(...below), root("entry d"))).toEqual([
      "= enter ",
      "- entry d",
      "+ enter d",
      "+ entry x",
      "+ leave d",
      "= leave ",
    ]);
    expect(merged(root("entry d"), root(...below))).toEqual([
      "= enter ",
      "- enter d",
      "- entry x",
      "- leave d",
      "+ entry d",
      "= leave ",
    ]);
    expect(merged(root("entry a"), [])).toEqual(["+ enter ", "+ entry a", "+ leave "]);
  });
});
