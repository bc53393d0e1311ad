import { expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

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
    const text = await child.stdout.text();
    expect([await child.exited, await readdir(folder)]).toEqual([0, []]);
    return text.trim().split("\n");
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("rows are read as often as they are asked for", async () => {
  expect(await readTwice("unlimited")).toEqual(["3 rows", "3 rows"]);
});

test("rows are not read if the last of them could not be written", async () => {
  const refused = expect.stringContaining("EFBIG") as string;
  expect(await readTwice("6")).toEqual([refused, refused]);
});
