import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { output } from "../../src/compare/program.ts";
import { checkOut } from "../../src/compare/worktrees.ts";
import { type Patch, type PlantedRepository, plantedRepository } from "./planted.ts";

// Installs packages or starts processes, on machines that may be busy.
setDefaultTimeout(60_000);

const RENAMED: Patch = {
  file: "packages/storage/package.json",
  find: '"name": "@idk/storage"',
  replace: '"name": "@idk/other"',
};

let repository: PlantedRepository;
beforeAll(async () => {
  repository = await plantedRepository(RENAMED);
});
afterAll(() => repository[Symbol.asyncDispose]());

const never = new AbortController().signal;

function open(parts: Partial<Parameters<typeof checkOut>[0]>) {
  const { folder, temporary } = repository;
  return checkOut({
    repository: folder,
    temporary,
    base: "main",
    head: "main",
    keep: false,
    signal: never,
    log: () => {},
    ...parts,
  });
}

async function traces(): Promise<{ folders: string[]; worktrees: number }> {
  const list = await repository.git("worktree", "list", "--porcelain");
  const folders = await readdir(repository.temporary);
  return {
    folders,
    worktrees: list.split("\n").filter((line) => line.startsWith("worktree ")).length,
  };
}

const NOTHING = { folders: [], worktrees: 1 };

test("creates two worktrees with their own libraries, and removes them on dispose", async () => {
  {
    await using worktrees = await open({ base: "main~0" });
    const { base, head } = worktrees;
    expect(base.commit).toBe(head.commit);
    expect(base.roundScript).toBe(head.roundScript.replace("/head/", "/base/"));
    expect(base.roundScript).not.toBe(head.roundScript);
    expect(await Bun.file(head.roundScript).exists()).toBe(true);
    expect((await traces()).worktrees).toBe(3);
  }
  expect(await traces()).toEqual(NOTHING);
});

test("prints the folder that it keeps", async () => {
  const logged: string[] = [];
  const worktrees = await open({ keep: true, log: (line) => logged.push(line) });
  await worktrees[Symbol.asyncDispose]();
  expect(logged.at(-1)).toContain(worktrees.folder);
  expect((await traces()).worktrees).toBe(3);
  await rm(worktrees.folder, { recursive: true });
  await repository.git("worktree", "prune");
  expect(await traces()).toEqual(NOTHING);
});

test("rejects an unknown revision, or one that looks like an option", async () => {
  for (const head of ["nowhere", "--all", "main:packages"]) {
    expect(await open({ head }).catch(String)).toContain(`unknown git revision ${head}`);
  }
  expect(await traces()).toEqual(NOTHING);
});

test("rejects a folder outside of a repository", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "idk-no-repository-"));
  try {
    const refused = open({ repository: elsewhere });
    expect(await refused.catch(String)).toContain("this is not a git repository");
  } finally {
    await rm(elsewhere, { recursive: true });
  }
});

test("rejects a revision without the library", async () => {
  const refused = open({ head: "planted" });
  expect(await refused.catch(String)).toContain("planted has no @idk/storage");
  expect(await traces()).toEqual(NOTHING);
});

test("reports the revision whose lockfile does not match its packages", async () => {
  const { folder, git } = repository;
  await git("checkout", "--quiet", "-b", "unlocked", "main");
  await mkdir(join(folder, "packages/more"), { recursive: true });
  const manifest = { name: "@idk/more", dependencies: { zod: "catalog:" } };
  await writeFile(join(folder, "packages/more/package.json"), JSON.stringify(manifest));
  await git("add", "--all");
  await git("commit", "--quiet", "--no-verify", "--message=unlocked");
  const refused = open({ head: "unlocked" });
  expect(await refused.catch(String)).toContain("cannot install the packages of unlocked: ");
  expect(await traces()).toEqual(NOTHING);
});

test("leaves nothing if interrupted at any step", async () => {
  for (const after of ["checking out main", "checking out main~0"]) {
    const controller = new AbortController();
    const log = (line: string) => {
      if (line.startsWith(`${after},`)) controller.abort(new Error("interrupted"));
    };
    const ended = open({ head: "main~0", signal: controller.signal, log });
    expect(await ended.catch(String)).toBe("Error: interrupted");
    expect(await traces()).toEqual(NOTHING);
  }
});

test("output stops the program on abort, and throws the reason", async () => {
  const controller = new AbortController();
  const argv = [process.execPath, "-e", "setInterval(() => {}, 1000)"];
  const running = output({ argv, cwd: tmpdir(), signal: controller.signal });
  setTimeout(() => controller.abort(new Error("interrupted")), 50);
  expect(await running.catch(String)).toBe("Error: interrupted");
});
