import { expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { json, newUser } from "../support/new-user.ts";

setDefaultTimeout(120_000);

const HOUR = 3600;

/** The files of a store. */
function filesOf(store: string): string[] {
  return readdirSync(store, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
}

/** Lets time pass: a store that is a folder dates what is in it by the times of files. */
function age(store: string, seconds: number): void {
  for (const path of filesOf(store)) {
    const time = statSync(path).mtimeMs / 1000 - seconds;
    utimesSync(path, time, time);
  }
}

test("`idk prune` deletes what only forgotten snapshots need, a grace period later", async () => {
  const { ok, docs, home, store } = await newUser();
  await ok(["repo", "init", "--grace-period", "1h"]);
  const gone = join(docs, "gone");
  writeFileSync(gone, "only in the first snapshot");
  await ok(["backup", "docs", "--name", "home"]);
  const first = filesOf(store);
  writeFileSync(gone, "only in the second snapshot");
  await ok(["backup", "docs", "--name", "home"]);
  age(store, 2 * HOUR);
  // The settings of before the first backup go.
  await ok(["prune"]);
  await ok(["forget", "home~1"]);
  const before = filesOf(store);
  // What was forgotten just now is kept for an hour.
  const early = await ok(["prune"]);
  expect(early.stdout).toMatch(/^deleted {2}0 bytes in 0 blobs, and 0 markers\n/u);
  expect(filesOf(store)).toEqual(before);

  age(store, 2 * HOUR);
  const [dry] = json(await ok(["prune", "--dry-run", "--json"]));
  expect(filesOf(store)).toEqual(before);
  const pruned = await ok(["prune"]);
  const line = /^deleted {2}(\S+ \S+) in (\d+) blobs, and (\d+) markers?\n/u.exec(pruned.stdout);
  expect(line).not.toBeNull();
  const [, , blobs, markers] = line!;
  expect(dry!["deleted"]).toMatchObject({ blobs: Number(blobs), markers: Number(markers) });
  const after = new Set(filesOf(store));
  const deleted = before.filter((path) => !after.has(path));
  expect(deleted).toHaveLength(Number(blobs) + Number(markers));
  expect(Number(markers)).toBeGreaterThan(0);
  expect(deleted.filter((path) => !first.includes(path))).toEqual([]);

  // All of the second snapshot is there, and nothing of the first one.
  expect((await ok(["check", "--read-data"])).stderr).toContain("checked 1 snapshot,");
  await ok(["restore", "home", "--target", "back"]);
  const back = join(home, "back", docs);
  expect(readFileSync(join(back, "gone"), "utf8")).toBe("only in the second snapshot");
  expect(readFileSync(join(back, "inner/photo"))).toEqual(readFileSync(join(docs, "inner/photo")));
  expect(existsSync(join(back, "notes.txt"))).toBe(true);
  expect((await ok(["snapshots", "--all", "--json"])).stdout.trim().split("\n")).toHaveLength(1);
});

test("`idk prune --quiet` warns of packs that are missing", async () => {
  const { ok, store } = await newUser();
  await ok(["repo", "init"]);
  await ok(["backup", "docs", "--name", "home"]);
  expect((await ok(["prune", "--quiet"])).stderr).toBe("");
  const [largest] = filesOf(store).toSorted((a, b) => statSync(b).size - statSync(a).size);
  rmSync(largest!);
  const warning =
    "idk: warning: 1 pack that snapshots need is missing, unless another prune has deleted it " +
    "meanwhile: run `idk check`\n";
  expect((await ok(["prune", "--quiet"])).stderr).toBe(warning);
  expect((await ok(["prune", "--quiet", "--json"])).stderr).toBe("");
  const shards = [1, 2].map(async (index) => {
    const args = ["--shard", `${index}/2`, "--report", `${index}.json`];
    return (await ok(["prune", "--dry-run", "--quiet", ...args])).stderr;
  });
  expect((await Promise.all(shards)).toSorted()).toEqual(["", warning]);
  // From the report that is there.
  const again = [1, 2].map(async (index) => {
    const args = ["--shard", `${index}/2`, "--report", `${index}.json`];
    return (await ok(["prune", "--dry-run", ...args])).stderr;
  });
  const text = (await Promise.all(again)).join("");
  expect(text.split("missing")).toHaveLength(2);
  expect(text).toContain(warning);
});
