import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { checkOut } from "../../src/compare/checkouts.ts";
import { run } from "../../src/harness/processes.ts";
import { type Patch, type PlantedRepository, plantedRepository } from "./planted.ts";

// Installs packages or starts processes, on machines that may be busy.
setDefaultTimeout(60_000);

const RENAMED: Patch = {
  file: "packages/storage/package.json",
  find: '"name": "@idk/storage"',
  replace: '"name": "@idk/other"',
};

let repository: PlantedRepository;
const { TMPDIR } = process.env;
beforeAll(async () => {
  repository = await plantedRepository(RENAMED);
  process.env["TMPDIR"] = repository.temporary;
});
afterAll(async () => {
  if (TMPDIR === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = TMPDIR;
  await repository[Symbol.asyncDispose]();
});

const never = new AbortController().signal;

function open(parts: Partial<Parameters<typeof checkOut>[0]>) {
  const { folder } = repository;
  const revisions = { base: "main", head: "main" };
  return checkOut({ repository: folder, ...revisions, signal: never, log: () => {}, ...parts });
}

/** What is left in the temporary folder, and what the repository has beside its branches. */
async function traces() {
  const { temporary, git } = repository;
  return [await readdir(temporary), await git("worktree", "list"), await git("status", "--short")];
}

const NOTHING = [[], expect.not.stringContaining("\n"), ""];

test("writes the files of both with their own libraries, and removes them on dispose", async () => {
  {
    using checkouts = await open({ base: "main~0" });
    const { base, head } = checkouts;
    expect(base.commit).toBe(await repository.git("rev-parse", "main"));
    expect(head.commit).toBe(base.commit);
    expect(base.script).toBe(head.script.replace("/head/", "/base/"));
    expect(base.script).not.toBe(head.script);
    expect(await readFile(head.script, "utf8")).toBe(await readFile(base.script, "utf8"));
    expect((await traces())[0]).toHaveLength(1);
  }
  expect(await traces()).toEqual(NOTHING);
});

test("a process that exits in the middle leaves nothing", async () => {
  const script = `
    const { checkOut } = await import(${JSON.stringify(join(import.meta.dir, "../../src/compare/checkouts.ts"))});
    const log = (line) => void (line.startsWith("checking out main~0") && process.exit(7));
    const [base, head] = ["main", "main~0"];
    const { signal } = new AbortController();
    await checkOut({ repository: ${JSON.stringify(repository.folder)}, base, head, signal, log });
  `;
  const argv = [process.execPath, "-e", script];
  expect(await run({ argv, env: { TMPDIR: repository.temporary } }).catch(String)).toContain("(7)");
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
