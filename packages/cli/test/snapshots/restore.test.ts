import { expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { json, newUser, treeOf } from "../support/new-user.ts";

setDefaultTimeout(120_000);

/** A user with a snapshot and a folder `back` that it was restored into. */
async function restored() {
  const user = await newUser();
  await user.ok(["backup", "docs", "--name", "home"]);
  const restore = ["restore", `home:${user.docs}`, "--target", "back"];
  await user.ok(restore);
  const back = join(user.home, "back");
  expect(treeOf(back)).toEqual(treeOf(user.docs));
  return { ...user, restore, back };
}

/** Writes other bytes into a file, whose size and time stay. */
function changeUnseen(path: string): void {
  const { atime, mtime, size } = statSync(path);
  writeFileSync(path, Buffer.alloc(size, "x"));
  utimesSync(path, atime, mtime);
}

test("--delete makes a folder what it was, and touches nothing behind a link", async () => {
  const { home, docs, ok, idk, restore, back } = await restored();
  const outside = join(home, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "precious"), "precious");
  const addSurplus = (): void => {
    mkdirSync(join(back, "surplus/inner"), { recursive: true });
    writeFileSync(join(back, "surplus/inner/file"), "");
    writeFileSync(join(back, "inner/surplus"), "");
    symlinkSync(outside, join(back, "surplus/link"));
  };
  addSurplus();
  unlinkSync(join(back, "notes.txt"));

  // Without it nothing is deleted, and it leaves what is excluded.
  await ok(restore);
  expect(existsSync(join(back, "surplus/inner/file"))).toBe(true);
  const [kept] = json(await ok([...restore, "--delete", "--exclude", "surplus", "--json"])).slice(
    -1,
  );
  expect(kept).toMatchObject({ deleted: 0, errors: 0 });
  expect(existsSync(join(back, "inner/surplus"))).toBe(true);

  // A dry run says what would go.
  const before = treeOf(back);
  const dry = await ok([...restore, "--delete", "--dry-run"]);
  expect(dry.stdout.match(/^deleted .*/gmu)?.toSorted()).toEqual([
    "deleted   back/inner/surplus",
    "deleted   back/surplus",
  ]);
  expect(treeOf(back)).toEqual(before);

  const last = json(await ok([...restore, "--delete", "--json"])).at(-1);
  expect(last).toMatchObject({ deleted: 2, errors: 0 });
  expect(treeOf(back)).toEqual(treeOf(docs));
  expect(readFileSync(join(outside, "precious"), "utf8")).toBe("precious");

  // A file replaces a folder that is not empty only with it.
  unlinkSync(join(back, "notes.txt"));
  mkdirSync(join(back, "notes.txt/inner"), { recursive: true });
  const refused = await idk(restore);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
  expect(refused.stderr).toContain("1 file could not be restored");
  expect(existsSync(join(back, "notes.txt/inner"))).toBe(true);
  await ok([...restore, "--delete"]);
  expect(treeOf(back)).toEqual(treeOf(docs));
});

test("--dry-run changes nothing, and makes no folder", async () => {
  const { home, ok, restore, back } = await restored();
  unlinkSync(join(back, "notes.txt"));
  writeFileSync(join(back, "inner/photo"), "another");
  const before = treeOf(back);
  const dry = await ok([...restore, "--overwrite", "if-changed", "--dry-run"]);
  expect(dry.stdout).toContain("created   back/notes.txt");
  expect(dry.stdout).toContain("replaced  back/inner/photo");
  expect(dry.stdout).toContain("would restore");
  expect(treeOf(back)).toEqual(before);
  await ok([...restore.slice(0, -1), "absent", "--dry-run"]);
  expect(existsSync(join(home, "absent"))).toBe(false);
});

test("--verify finds what changed without a trace, which --overwrite if-changed leaves otherwise", async () => {
  const { docs, ok, restore, back } = await restored();
  changeUnseen(join(back, "notes.txt"));
  changeUnseen(join(back, "inner/photo"));
  const quick = [...restore, "--overwrite", "if-changed", "--json"];
  expect(json(await ok(quick)).at(-1)).toMatchObject({ bytes: 0, errors: 0 });
  expect(treeOf(back)).not.toEqual(treeOf(docs));
  const { size } = statSync(join(docs, "inner/photo"));
  const verified = json(await ok([...quick, "--verify"])).at(-1);
  expect(verified).toMatchObject({ bytes: size + "the notes\n".length, errors: 0 });
  expect(treeOf(back)).toEqual(treeOf(docs));
});
