import { expect, test } from "bun:test";
import { decodeTable, encodeTable } from "../../src/restore/threads/file-table.ts";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { differences, printed, snapshotOf, temporaryBase } from "./support.ts";
import type { PieceEncoding } from "../../src/format/packs/piece.ts";
import fc from "fast-check";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { restore } from "../../src/restore/restore.ts";

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

test.each([0, 1, 3])(
  "with %i threads, everything is restored, each pack fetched once",
  async (workers) => {
    const target = join(base, `with-${workers}`);
    given.take();
    const summary = await restore(opened, { target, workers, verify: true });
    expect(summary.errorList).toEqual([]);
    expect(summary).toMatchObject({ files: 410, directories: 200 });
    expect(printed(target)).toEqual(printed(source));
    expect(differences(source, target)).toBe("");
    // 54 MB in packs of 4 MiB, and the metadata.
    expect(given.take().get).toBeLessThanOrEqual(16);
    rmSync(target, { recursive: true });
  },
);

test("what fails in a thread is an error of its file", async () => {
  const target = join(base, "in-the-way");
  for (const folder of [3, 150])
    mkdirSync(join(target, `d${folder}/short/inner`), { recursive: true });
  const summary = await restore(opened, { target, workers: 2 });
  expect(summary.errorList.map(({ path }) => Buffer.from(path).toString())).toEqual([
    "d150/short",
    "d3/short",
  ]);
  expect(summary.files).toBe(408);
  for (const { error } of summary.errorList) expect(error.message).toContain("not empty");
  await restore(opened, { target, workers: 2, delete: true, overwrite: "if-changed" });
  expect(printed(target)).toEqual(printed(source));
});

test("a number of threads that is not one is refused", () => {
  for (const workers of [-1, 65, 1.5]) {
    expect(restore(opened, { target: base, workers })).rejects.toMatchObject({ code: "usage" });
  }
});

test("a table of files is read as it was written", () => {
  const uint = fc.nat(2 ** 32 - 1);
  const file = fc.record({
    folder: uint,
    hasTemporaryNames: fc.boolean(),
    name: fc.uint8Array({ minLength: 1, maxLength: 255 }),
    hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    attributes: fc.record({
      mode: fc.nat(0o7777),
      uid: uint,
      gid: uint,
      mtime: fc.record({
        seconds: fc.integer({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }),
        nanoseconds: fc.nat(10 ** 9 - 1),
      }),
      extended: fc.constant(undefined),
    }),
    piece: fc.record({
      offset: fc.nat(2 ** 22),
      stored: fc.nat(2 ** 20),
      length: fc.nat(2 ** 20),
      encoding: fc.constantFrom<PieceEncoding>("raw", "lz4", "zstd"),
    }),
  });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 20 }), (files) => {
      expect([...decodeTable(encodeTable(files))]).toEqual(files);
    }),
  );
});
