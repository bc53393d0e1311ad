import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCandidates } from "../../../src/objects/rebuild/candidates.ts";

const FILLER = join(import.meta.dir, "fill-spool.ts");

/** What a process reads of three rows of 4 kB, twice, if its files can have so many KiB. */
async function readTwice(limit: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "idk-spool-"));
  try {
    const script = `trap '' XFSZ; ulimit -f ${limit}; exec "$0" "$@"`;
    const child = Bun.spawn(["bash", "-c", script, process.execPath, FILLER, folder], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const text = await new Response(child.stdout).text();
    expect([await child.exited, await readdir(folder)]).toEqual([0, []]);
    return text.trim().split("\n");
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("rows are read as often as they are asked for, and are in no folder", async () => {
  expect(await readTwice("unlimited")).toEqual(["0 files", "3 rows", "3 rows"]);
});

test("rows are not read if the last of them could not be written", async () => {
  const refused = expect.stringContaining("EFBIG") as string;
  expect(await readTwice("6")).toEqual(["0 files", refused, refused]);
});

test("candidates are in no folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-spool-"));
  try {
    const candidates = await createCandidates(folder);
    expect(await readdir(folder)).toEqual([]);
    candidates.bury(1, Buffer.from("k"), 2);
    expect(candidates.broken(1)).toEqual({ count: 0, roots: [] });
    await candidates.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("candidates that cannot be kept leave no file, neither open nor in a folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-spool-"));
  const run = spyOn(Database.prototype, "run").mockImplementation(() => {
    throw new Error("the disk is full");
  });
  const close = spyOn(Database.prototype, "close");
  try {
    const outcome = await createCandidates(folder).catch(String);
    expect(outcome).toBe("Error: the disk is full");
    expect(close).toHaveBeenCalledTimes(1);
    expect(await readdir(folder)).toEqual([]);
  } finally {
    run.mockRestore();
    close.mockRestore();
    await rm(folder, { recursive: true });
  }
});
