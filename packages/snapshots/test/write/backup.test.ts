import { type Given, contents, expected, given } from "./support.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { all } from "../support/repositories.ts";
import type { BackupEvent } from "../../src/write/options.ts";
import { join } from "node:path";
import { randomBytes } from "node:crypto";

const MIB = 2 ** 20;
/** Snapshot, reach and head. */
const RECORDS = 3;
let at: Given;
beforeEach(async () => {
  at = await given();
});
afterEach(() => at.end());

/** Compares the newest snapshot with the folder. */
async function check(name?: string): Promise<void> {
  expect(await contents(await at.read(name), at.source)).toEqual(expected(at.source));
}

/** Bytes that this process has read so far, files included. */
function bytesRead(): number {
  return Number(/rchar: (\d+)/u.exec(readFileSync("/proc/self/io", "utf8"))![1]);
}

describe("a backup", () => {
  test("reads back as it was", async () => {
    at.write("a", "hello");
    at.write("empty", "");
    at.write("dir/inner/deep", "deep".repeat(1000));
    at.write("large", Buffer.concat([randomBytes(3 * MIB), Buffer.alloc(2 * MIB, "text ")]));
    at.write("holes", Buffer.concat([Buffer.alloc(3 * MIB), Buffer.from("end")]));
    at.write("zeros", Buffer.alloc(100));
    at.write("tail", Buffer.concat([Buffer.alloc(MIB, 1), Buffer.alloc(MIB + 3)]));
    mkdirSync(join(at.source, "none"));
    symlinkSync("../a", join(at.source, "dir/link"));
    chmodSync(join(at.source, "a"), 0o4711);
    const summary = await at.run();
    expect(summary).toMatchObject({ files: 8, errors: 0, newFiles: 8, isUnchanged: false });
    await check();
    const snapshot = await at.read();
    expect(snapshot.snapshot.totals.newBytes).toBe(summary.newBytes);
    expect(Buffer.from(snapshot.snapshot.treeId)).toEqual(Buffer.from(summary.treeId!));
    // Zeros take no room where they make a piece.
    expect(summary.newBytes).toBeLessThan(7 * MIB + 10_000);
  });

  test.each(["zstd", "lz4", "none"] as const)(
    "with compression %s reads back",
    async (compression) => {
      at.write("text", Buffer.alloc(MIB / 2, "compressible "));
      at.write("random", randomBytes(10_000));
      const summary = await at.run({ compression });
      expect(summary.storedBytes < MIB / 4).toBe(compression !== "none");
      await check();
    },
  );

  test.each([0, 2])("with %i threads reads back", async (workers) => {
    for (let i = 0; i < 12; i += 1) at.write(`file-${i}`, Buffer.alloc(MIB + i, `${i} text `));
    for (let i = 0; i < 12; i += 1) at.write(`random-${i}`, randomBytes(MIB + i));
    await at.run({ workers });
    await check();
  });

  test("of nothing that can be read makes no snapshot, which would be the newest", async () => {
    at.write("file", "1");
    await at.run();
    const missing = join(at.source, "../missing");
    const events: BackupEvent[] = [];
    const onEvent = (event: BackupEvent): void => void events.push(event);
    for (const path of [missing, `${missing}/deeper/still`, `${at.source}/file/below`]) {
      events.length = 0;
      for (const dryRun of [true, false]) {
        const run = at.run({ paths: [Buffer.from(path)], onEvent, dryRun });
        expect(run).rejects.toMatchObject({ code: "unavailable" });
        expect(run).rejects.toThrow("none of the paths to back up could be read");
        await run.catch(() => {});
      }
      expect(events[0]?.kind).toBe("start");
      expect(events.map(({ kind }) => kind)).toContain("error");
    }
    await check();
  });

  test("of some paths that can be read has those, and counts the others", async () => {
    at.write("file", "1");
    const paths = ["missing/deeper", "file"].map((each) => Buffer.from(join(at.source, each)));
    const summary = await at.run({ paths });
    expect(summary).toMatchObject({ files: 1, errors: 1 });
    expect(summary.errorList[0]).toMatchObject({ path: Buffer.from(join(at.source, "missing")) });
  });

  test("of an empty folder makes an empty snapshot", async () => {
    expect(await at.run()).toMatchObject({ files: 0, errors: 0 });
    await check();
  });

  test("leaves out what is excluded, and keeps the patterns", async () => {
    at.write("keep", "1");
    at.write("drop.tmp", "2");
    await at.run({ excludes: ["*.tmp"] });
    expect((await contents(await at.read(), at.source)).join()).not.toContain("drop");
    expect((await at.read()).snapshot.excludes).toEqual(["*.tmp"]);
  });
});

describe("the next backup", () => {
  test("of the same reads no file, sends nothing of it and takes 8 requests at most", async () => {
    at.write("large", randomBytes(16 * MIB));
    for (let i = 0; i < 50; i += 1) at.write(`dir-${i % 5}/file-${i}`, `content ${i}`);
    await at.run();
    at.sent();
    at.later();
    const before = bytesRead();
    const summary = await at.run();
    expect(bytesRead() - before).toBeLessThan(MIB);
    expect(summary).toMatchObject({
      unchangedFiles: 51,
      newFiles: 0,
      changedFiles: 0,
      newBytes: 0,
    });
    // Somebody may have changed the folder above, which takes a pack of a few KiB.
    const { puts, requests, markers, bytes } = at.sent();
    expect(markers).toBe(1);
    expect([0, 1]).toContain(puts - RECORDS);
    expect(requests).toBe(puts + 4);
    expect(bytes).toBeLessThan(12_000);
    expect(summary.isUnchanged).toBe(puts === RECORDS);
    await check();
  });

  test("sends what changed and nothing else", async () => {
    at.write("large", randomBytes(8 * MIB));
    for (let i = 0; i < 3000; i += 1) at.write(`many/file-${i}`, `content ${i}`);
    await at.run();
    at.sent();
    at.later();
    const large = readFileSync(join(at.source, "large"));
    large[5 * MIB + 7]! ^= 1;
    at.write("large", large);
    at.write("many/file-1500a", "new");
    rmSync(join(at.source, "many/file-7"));
    const summary = await at.run();
    expect(summary).toMatchObject({
      newFiles: 1,
      changedFiles: 1,
      goneFiles: 1,
      unchangedFiles: 2999,
    });
    expect(summary.newBytes).toBe(MIB + 3);
    // One data pack, and nodes of 3,000 entries in all but those that stay.
    expect(at.sent().puts).toBe(RECORDS + 2);
    expect(summary.storedBytes).toBeLessThan(1.3 * MIB);
    await check();
  });

  test("sends no content that moved or was copied", async () => {
    at.write("old/a", randomBytes(2 * MIB));
    at.write("old/b", randomBytes(1000));
    await at.run();
    at.later();
    renameSync(join(at.source, "old"), join(at.source, "new"));
    cpSync(join(at.source, "new"), join(at.source, "copy"), { recursive: true });
    expect(await at.run()).toMatchObject({ newBytes: 0, newFiles: 4, goneFiles: 2 });
    await check();
  });

  test("reads a file again that was written just before it was read", async () => {
    at.clock.now = Date.now();
    writeFileSync(join(at.source, "a"), "one");
    await at.run();
    at.later();
    const before = bytesRead();
    at.write("b", Buffer.alloc(0));
    expect((await at.run()).unchangedFiles).toBe(1);
    expect(bytesRead()).toBeGreaterThan(before);
    await check();
  });

  test("keeps the groups of hard links", async () => {
    at.write("a", "linked");
    linkSync(join(at.source, "a"), join(at.source, "b"));
    at.write("c", "alone");
    await at.run();
    const numbers = async () => {
      const snapshot = await at.read();
      const prefix = at.source.slice(1);
      const of = async (name: string) =>
        (await snapshot.entry(`${prefix}/${name}`))!.entry.extra.links;
      return Promise.all(["a", "c", "d"].map((name) => of(name).catch(() => undefined)));
    };
    expect(await numbers()).toEqual([1, undefined, undefined]);
    at.later();
    linkSync(join(at.source, "c"), join(at.source, "d"));
    expect((await at.run()).newBytes).toBe(0);
    expect(await numbers()).toEqual([1, 2, 2]);
    at.later();
    rmSync(join(at.source, "b"));
    expect((await at.run()).newBytes).toBe(0);
    expect(await numbers()).toEqual([undefined, 2, 2]);
    await check();
  });

  test("forgets in the cache what is gone, and finds what came back as new", async () => {
    const content = randomBytes(5000);
    at.write("SECRET-NAME", content);
    at.write("stays", "x");
    await at.run();
    at.later();
    rmSync(join(at.source, "SECRET-NAME"));
    await at.run();
    expect(readFileSync(at.cache).includes("SECRET-NAME")).toBe(false);
    at.later();
    at.write("back", content);
    // What is left of its pack is stored anew, too.
    expect((await at.run()).newBytes).toBe(5000 + 1);
    await check();
  });

  test("appends to a file of many pieces with one new piece", async () => {
    at.write("log", randomBytes(4 * MIB + 10));
    await at.run();
    at.later();
    appendFileSync(join(at.source, "log"), "more");
    expect((await at.run()).newBytes).toBe(14);
    await check();
  });

  test("after the cache was lost sends everything again, and knows the heads before", async () => {
    at.write("a", "1");
    const first = await at.run();
    const id = await at.treeId();
    rmSync(join(at.cache, ".."), { recursive: true });
    at.later();
    const second = await at.run();
    expect(await at.treeId()).toBe(id);
    expect(second).toMatchObject({ newFiles: 1, newBytes: 1 });
    expect((await at.read()).found.head.previous).toEqual([first.marker!.address]);
    await check();
  });

  test("sets a cache aside whose damage shows while it is read", async () => {
    at.write("SECRET-NAME", "1");
    await at.run();
    const bytes = readFileSync(at.cache);
    bytes.write("X", bytes.indexOf("SECRET-NAME"));
    writeFileSync(at.cache, bytes);
    at.later();
    const failed: unknown = await at.run().catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "unavailable" });
    expect(String(failed)).toContain(`${at.cache}.set-aside`);
    expect(await at.run()).toMatchObject({ newFiles: 1, errors: 0 });
    await check();
  });

  test("keeps a directory of many entries but for the node that changed", async () => {
    const name = (i: number): string => `file-${String(i).padStart(6, "0")}`;
    // Each has a hash of its own, so that nodes do not compress.
    for (let i = 0; i < 4000; i += 1) at.write(name(i), `${i}`);
    const first = await at.run();
    at.later();
    at.write(`${name(2500)}a`, "");
    const { storedBytes } = await at.run();
    // A node of about 700 entries of some 45 bytes, and the directories above.
    expect(storedBytes).toBeLessThan(40_000);
    expect(first.storedBytes).toBeGreaterThan(4 * storedBytes);
    const names = (await all((await at.read()).entries(at.source.slice(1)))).map(({ entry }) =>
      Buffer.from(entry.name).toString(),
    );
    expect(names).toEqual(readdirSync(at.source).toSorted());
  }, 60_000);
});

test("a change at the end of a large folder finds again what was passed over", async () => {
  const name = (at: number) => `file-${String(at).padStart(5, "0")}`;
  for (let i = 0; i < 3000; i += 1) at.write(name(i), `${i % 10}`);
  at.write("file-01000-folder/inner", "inner");
  await at.run();
  const id = await at.treeId();
  at.later();
  expect(await at.run()).toMatchObject({ unchangedFiles: 3001, newBytes: 0 });
  expect(await at.treeId()).toBe(id);
  at.later();
  at.write(name(2999), "changed");
  await at.run();
  await check();
  at.later();
  at.write("z", "last");
  rmSync(join(at.source, name(2)));
  await at.run();
  await check();
}, 120_000);

describe("a dry run", () => {
  test("counts what a backup would store, and stores nothing", async () => {
    at.write("a", randomBytes(1000));
    at.write("b", "b");
    at.sent();
    const counts = { newFiles: 2, newBytes: 1001, unchangedFiles: 0, storedBytes: 0 };
    expect(await at.run({ dryRun: true })).toMatchObject(counts);
    expect(at.sent()).toMatchObject({ puts: 0, markers: 0 });
    await at.run();
    at.later();
    at.write("b", "c");
    const dry = await at.run({ dryRun: true });
    expect(dry).toMatchObject({ newFiles: 0, changedFiles: 1, unchangedFiles: 1, newBytes: 1 });
    expect(dry).toMatchObject({ isUnchanged: false, marker: undefined });
    expect(await at.run()).toMatchObject({ changedFiles: 1, unchangedFiles: 1, newBytes: 1 });
  });
});
