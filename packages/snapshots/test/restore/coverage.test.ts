/** What `delete` leaves alone, because the backup did not look at it. */
import { type Given, given } from "../write/support.ts";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { bytes, storeFolder } from "../support/repository-writer.ts";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openStored, printed, temporaryBase } from "./support.ts";
import type { BackupOptions } from "../../src/write/options.ts";
import type { RestoreSummary } from "../../src/restore/options.ts";
import { restore } from "../../src/restore/restore.ts";
import { testRepository } from "../support/repositories.ts";

const base = temporaryBase();
let target: string;
let at: Given;
beforeEach(async () => {
  at = await given();
  at.write("documents/inner/file", "1");
  at.write("documents/letter", "2");
  at.write("photos/one", "3");
  target = join(base, crypto.randomUUID());
});
afterEach(() => at.end());

const inSource = (path: string) => Buffer.from(join(at.source, path));
const make = (path: string): string => {
  const file = join(target, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "precious");
  return file;
};
/** Backs up and restores, over what is in the target. */
async function restored(
  backup: Partial<BackupOptions>,
  options: { readonly path?: string; readonly dryRun?: boolean } = {},
): Promise<RestoreSummary> {
  await at.run(backup);
  return restore(await at.read(), { target, delete: true, ...options });
}

test("folders above the paths that were given keep what else is in them", async () => {
  const whole = at.source.slice(1);
  const kept = ["top", "tmp/x", `${whole}/photos/one`, `${whole}/other`].map(make);
  const surplus = [`${whole}/documents/old`, `${whole}/documents/inner/old`].map(make);
  const paths = [inSource("documents"), inSource("photos/two")];
  at.write("photos/two", "4");
  for (const dryRun of [true, false]) {
    const summary = await restored({ paths }, { dryRun });
    expect(summary).toMatchObject({ deleted: 2, errors: 0, warnings: 0 });
  }
  expect(kept.filter(existsSync)).toEqual(kept);
  expect(surplus.filter(existsSync)).toEqual([]);
});

test("the same holds for a part of the snapshot", async () => {
  const kept = make("other");
  const surplus = make("documents/old");
  const paths = [inSource("documents")];
  expect(await restored({ paths }, { path: at.source })).toMatchObject({ deleted: 1 });
  expect([kept, surplus].map(existsSync)).toEqual([true, false]);
  // Below a path that was given, everything was looked at.
  expect(await restored({ paths }, { path: join(at.source, "documents/inner") })).toMatchObject({
    deleted: 2,
    warnings: 0,
  });
  expect(printed(target, "%P")).toEqual(["file"]);
});

test("a path that was given relative, or through a link, is known by where it is", async () => {
  const before = process.cwd();
  process.chdir(at.source);
  try {
    make("old");
    symlinkSync(".", "link");
    const paths = [Buffer.from("link/documents/../documents")];
    const path = join(at.source, "documents");
    expect(await restored({ paths }, { path })).toMatchObject({ deleted: 1, warnings: 0 });
    expect((await at.read()).snapshot.paths.map((each) => Buffer.from(each).toString())).toEqual([
      path,
    ]);
  } finally {
    process.chdir(before);
  }
});

test("what matches a pattern that the backup excluded stays", async () => {
  const kept = ["documents/disk.iso", "documents/inner/build", "documents/cache"].map(make);
  const surplus = ["documents/cache-not", "photos/inner/build"].map(make);
  const excludes = ["*.iso", "inner/build", `${at.source}/documents/cache`, "!photos/inner/build"];
  expect(await restored({ excludes }, { path: at.source })).toMatchObject({ warnings: 0 });
  expect(kept.filter(existsSync)).toEqual(kept);
  expect(surplus.filter(existsSync)).toEqual([]);
});

test("with more patterns than a snapshot has room for, nothing is deleted", async () => {
  const kept = ["documents/old", "documents/disk.iso"].map(make);
  const excludes = [...Array.from({ length: 3000 }, (_, i) => `pattern-${i}`), "*.iso"];
  const { deleted } = await restored({ excludes }, { path: at.source });
  expect([deleted, ...kept.map(existsSync)]).toEqual([0, true, true]);
});

test.each([
  ["relative paths", { paths: [bytes("documents")] }],
  ["no paths", { paths: [] }],
  ["a malformed pattern", { paths: [bytes("/")], excludes: ["["] }],
])("a snapshot of another program that has %s deletes nothing", async (_, change) => {
  const repository = await testRepository();
  const opened = await openStored(
    repository,
    (session) => storeFolder(session, { documents: {} }),
    change,
  );
  const kept = ["old", "documents/old"].map(make);
  const summary = await restore(opened, { target, delete: true });
  expect(summary).toMatchObject({ deleted: 0, errors: 0, warnings: 1 });
  expect(summary.warningList[0]!.message).toContain("nothing in it is deleted");
  expect(kept.filter(existsSync)).toEqual(kept);
});
