import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, rename, rm, rmdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeUnusedLists } from "../../src/snapshot/list-files.ts";

const OPENER = join(import.meta.dir, "open-list.ts");

/** A process that has a list of one file open. */
async function start(folder: string) {
  const child = Bun.spawn([process.execPath, OPENER, folder], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = child.stdout.pipeThrough(new TextDecoderStream()).values();
  expect((await output.next()).value).toBe("listed\n");
  return {
    async kill(): Promise<void> {
      child.kill("SIGKILL");
      await child.exited;
    },
    /** Expects that it still has its list, and closes it. */
    async end(): Promise<void> {
      await child.stdin.end();
      expect((await output.next()).value).toBe("name\n");
      expect(await child.exited).toBe(0);
    },
  };
}

/** The lists in a folder, without what SQLite keeps beside them. */
async function lists(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(".sqlite"));
}

test("a list of a process that was killed is deleted by the next one, and no other", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-lists-"));
  try {
    const first = await start(folder);
    const [inUse] = await lists(folder);
    const second = await start(folder);
    expect(await lists(folder)).toHaveLength(2);
    await second.kill();
    expect(await lists(folder)).toHaveLength(2);
    await writeFile(join(folder, "recipients.sqlite"), "somebody else's");

    const third = await start(folder);
    const left = await lists(folder);
    expect(left).toHaveLength(3);
    expect(left).toEqual(expect.arrayContaining([inUse!, "recipients.sqlite"]));
    for (const each of [first, third]) await each.end();
    expect(await readdir(folder)).toEqual(["recipients.sqlite"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a list is deleted also if there is no room for a file beside it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-lists-"));
  try {
    const killed = await start(folder);
    await killed.kill();
    const [name = ""] = await lists(folder);
    await rm(join(folder, `${name}-shm`));
    // SQLite does not follow it.
    await symlink("nothing", join(folder, `${name}-shm`));
    await removeUnusedLists(folder);
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a list that cannot be opened may be in use, and what is no list is deleted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-lists-"));
  try {
    const living = await start(folder);
    const [name = ""] = await lists(folder);
    const log = join(folder, `${name}-wal`);
    await rename(log, `${log}-aside`);
    await mkdir(log);
    await writeFile(join(folder, `snapshot-${"0".repeat(36)}.sqlite`), "x".repeat(5000));
    await removeUnusedLists(folder);
    expect(await lists(folder)).toEqual([name]);
    await rmdir(log);
    await rename(`${log}-aside`, log);
    await living.end();
  } finally {
    await rm(folder, { recursive: true });
  }
});
