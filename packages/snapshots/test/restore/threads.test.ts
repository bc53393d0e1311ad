import { expect, test } from "bun:test";
import { decodeTable, encodeTable } from "../../src/restore/threads/file-table.ts";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { differences, openStored, printed, snapshotOf, temporaryBase } from "./support.ts";
import { type Item, bytes, storeFolder } from "../support/repository-writer.ts";
import type { PieceEncoding } from "../../src/format/packs/piece.ts";
import fc from "fast-check";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { randomBytes } from "node:crypto";
import { testRepository } from "../support/repositories.ts";
import { restore, restoreWith } from "../../src/restore/restore.ts";
import { type ShortFile, ShortFiles } from "../../src/restore/contents/short-files.ts";
import type { TargetFolder } from "../../src/restore/target/target-folders.ts";
import type { RestoreOptions, RestoreSummary } from "../../src/restore/options.ts";
import { fileThreads } from "../../src/restore/threads/pool.ts";

const host = await openHost();
const base = temporaryBase();
const source = join(base, "source");
// More packs than the threads need to start, with files short and long, and more folders than are pinned.
for (let folder = 0; folder < 200; folder += 1) {
  const path = join(source, `d${folder}`);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "short"), Buffer.alloc(200_000, folder + 1));
  writeFileSync(join(path, "tiny"), `${folder}`);
  if (folder % 20 === 0) writeFileSync(join(path, "long"), Buffer.alloc(2 ** 20 + 1, folder + 1));
}
const open = host.openRoot(Buffer.from(source));
host.setAttribute(open, Buffer.from("d7"), "user.a", Buffer.from("b"));
host.close(open);
const { opened, given } = await snapshotOf(host, source);

/** Restores when the threads run: else the first packs are opened without them. */
async function inThreads(options: RestoreOptions): Promise<RestoreSummary> {
  const threads = fileThreads(options.workers);
  await threads.start();
  expect(threads.areReady()).toBe(options.workers !== 0);
  let jobs = 0;
  const counting = {
    ...threads,
    write: async (job: Parameters<typeof threads.write>[0]) => {
      jobs += 1;
      return threads.write(job);
    },
  };
  const summary = await restoreWith(host, opened, options, counting);
  expect(jobs > 0).toBe(options.workers !== 0);
  return summary;
}

test.each([0, 1, 3])(
  "with %i threads, everything is restored, each pack fetched once",
  async (workers) => {
    const target = join(base, `with-${workers}`);
    given.take();
    const summary = await inThreads({ target, workers, verify: true });
    expect(summary.errorList).toEqual([]);
    expect(summary).toMatchObject({ files: 410, directories: 200 });
    expect(printed(target)).toEqual(printed(source));
    expect(differences(source, target)).toBe("");
    // 54 MB in packs of 4 MiB, and the metadata.
    expect(given.take().get).toBeLessThanOrEqual(16);
    rmSync(target, { recursive: true });
  },
);

test("they start before the first pack if all of much is written, and not otherwise", async () => {
  const started = async (options: Partial<RestoreOptions>, from = opened) => {
    let starts = 0;
    const none = fileThreads(0);
    const counting = { ...none, start: async () => void (starts += 1) };
    const target = join(base, `started-${randomBytes(4).toString("hex")}`);
    await restoreWith(host, from, { target, ...options }, counting);
    rmSync(target, { recursive: true, force: true });
    return starts;
  };
  expect(await started({})).toBe(1);
  for (const options of [
    { include: ["d1"] },
    { exclude: ["d1"] },
    { path: "d1" },
    { dryRun: true },
    { overwrite: "if-changed" },
  ] as const) {
    expect(await started(options)).toBe(0);
  }
  const little = join(base, "little");
  mkdirSync(little);
  writeFileSync(join(little, "file"), Buffer.alloc(2 ** 25 - 1));
  const { opened: small } = await snapshotOf(host, little);
  expect(await started({}, small)).toBe(0);
});

test("what fails in a thread is an error of its file", async () => {
  const target = join(base, "in-the-way");
  for (const folder of [3, 150])
    mkdirSync(join(target, `d${folder}/short/inner`), { recursive: true });
  const summary = await inThreads({ target, workers: 2 });
  expect(summary.errorList.map(({ path }) => Buffer.from(path).toString())).toEqual([
    "d150/short",
    "d3/short",
  ]);
  expect(summary.files).toBe(408);
  for (const { error } of summary.errorList) expect(error.message).toContain("not empty");
  await restore(opened, { target, workers: 2, delete: true, overwrite: "if-changed" });
  expect(printed(target)).toEqual(printed(source));
});

test("a folder that is replaced fails only its own files, not all of their pack", async () => {
  const target = join(base, "replaced-folder");
  let folders = 0;
  const summary = await inThreads({
    target,
    workers: 2,
    onEvent: (event) => {
      if (event.kind !== "entry" || event.type !== "directory") return;
      folders += 1;
      if (folders < 200) return;
      // One that was closed again, as more were entered than stay open.
      renameSync(join(target, "d1"), join(target, "moved"));
      mkdirSync(join(target, "d1"));
    },
  });
  const failed = summary.errorList.map(({ path }) => Buffer.from(path).toString());
  expect(failed.toSorted()).toEqual(["d1", "d1/short", "d1/tiny"]);
  expect(summary.files).toBe(408);
  expect(readdirSync(join(target, "d1"))).toEqual([]);
  rmSync(target, { recursive: true });
});

test.skipIf(process.platform !== "linux")(
  "a snapshot that asks for as many open files as it can stays below 1,024",
  async () => {
    const own = await testRepository();
    const wide = await openStored(own, async (session) => {
      const content = bytes("content");
      const rows = [];
      for (let at = 0; at < 12; at += 1) {
        rows.push(await session.dataPack(Buffer.concat([content, randomBytes(16)])));
      }
      const entries: [string, Item][] = [["0", content]];
      const order = [rows[0]!];
      for (let pack = 1; pack < 11; pack += 1) {
        for (let at = 0; at < 200; at += 1) {
          entries.push([`1-${String(200 * pack + at)}`, { file: content }]);
          order.push(rows[pack]!);
        }
      }
      // Begun with the first pack, ended with the last: open while all others are fetched.
      for (let at = 0; at < 400; at += 1) {
        entries.push([`2-${at}`, [content, 4096, content]]);
        order.push(rows[0]!, rows[11]!);
      }
      let next = 0;
      const shared = { ...session, dataPack: async () => order[next++]! };
      return storeFolder(shared, Object.fromEntries(entries));
    });
    const threads = fileThreads(2);
    await threads.start();
    let most = 0;
    const counting = {
      ...threads,
      write: async (job: Parameters<typeof threads.write>[0]) => {
        most = Math.max(most, readdirSync("/proc/self/fd").length);
        return threads.write(job);
      },
    };
    const before = readdirSync("/proc/self/fd").length;
    const target = join(base, "wide");
    const summary = await restoreWith(host, wide, { target }, counting);
    expect(summary).toMatchObject({ files: 2401, errors: 0 });
    // With room for what else a process has open.
    expect(most - before).toBeLessThan(800);
    expect(most - before).toBeGreaterThan(400);
    rmSync(target, { recursive: true });
  },
  60_000,
);

test("a number of threads that is not one is refused", () => {
  for (const workers of [-1, 65, 1.5]) {
    expect(restore(opened, { target: base, workers })).rejects.toMatchObject({ code: "usage" });
  }
});

const uint = fc.nat(2 ** 32 - 1);
const ownAttributes = {
  mode: fc.nat(0o7777),
  uid: uint,
  gid: uint,
  mtime: fc.record({
    seconds: fc.integer({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }),
    nanoseconds: fc.nat(10 ** 9 - 1),
  }),
};
const ownContent = {
  name: fc.uint8Array({ minLength: 1, maxLength: 255 }),
  hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  piece: fc.record({
    offset: fc.nat(2 ** 22),
    stored: fc.nat(2 ** 20),
    length: fc.nat(2 ** 20),
    encoding: fc.constantFrom<PieceEncoding>("raw", "lz4", "zstd"),
  }),
};

test("a table of files is read as it was written", () => {
  const file = fc.record({
    ...ownContent,
    folder: uint,
    hasTemporaryNames: fc.boolean(),
    attributes: fc.record({ ...ownAttributes, extended: fc.constant(undefined) }),
  });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 20 }), (files) => {
      expect([...decodeTable(encodeTable(files))]).toEqual(files);
    }),
  );
});

test("planned files are as they were added", () => {
  const parents = [1, 2].map((device) => ({ device }) as TargetFolder);
  const extended = new Map([["user.a", Buffer.from("b")]]);
  const file = fc.record({
    ...ownContent,
    parent: fc.constantFrom(...parents),
    attributes: fc.record({
      ...ownAttributes,
      extended: fc.constantFrom(undefined, extended),
    }),
    action: fc.constantFrom<ShortFile["action"]>("created", "replaced"),
    group: fc.constantFrom(undefined, 0, 1, 2 ** 53 - 1),
  });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 20 }), (files) => {
      const planned = new ShortFiles();
      for (const each of files) planned.add(each);
      expect(planned.length).toBe(files.length);
      for (const [index, each] of files.entries()) {
        expect(planned.at(index)).toEqual(each);
        expect(planned.at(index).parent).toBe(each.parent);
      }
    }),
  );
});
