import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { git as runGit } from "../../src/harness/processes.ts";

const ROOT = join(import.meta.dir, "../../../..");

/** A change in one file: text that occurs once, and its replacement. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface PlantedRepository extends AsyncDisposable {
  readonly folder: string;
  /** A temporary folder outside of the repository. */
  readonly temporary: string;
  git(...args: string[]): Promise<string>;
}

/**
 * Creates a git repository with the library and the baseline of this working tree on `main`, and a branch
 * `planted` with one more commit.
 */
export async function plantedRepository(...patches: readonly Patch[]): Promise<PlantedRepository> {
  const above = await mkdtemp(join(tmpdir(), "idk-planted-"));
  const folder = join(above, "repository");
  const temporary = join(above, "temporary");
  const git = async (...args: string[]) => (await runGit(folder, args)).trim();
  const dispose = () => rm(above, { recursive: true, force: true });
  try {
    await mkdir(folder);
    await mkdir(temporary);
    await copyLibrary(folder);
    await git("init", "--quiet", "--initial-branch=main");
    await git("config", "user.name", "planted");
    await git("config", "user.email", "planted@localhost");
    await git("config", "commit.gpgsign", "false");
    await git("add", "--all");
    await git("commit", "--quiet", "--no-verify", "--message=library");
    await git("checkout", "--quiet", "-b", "planted");
    for (const patch of patches) await apply(join(folder, patch.file), patch);
    await git("commit", "--quiet", "--no-verify", "--all", "--allow-empty", "--message=planted");
    return { folder, temporary, git, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Copies what is needed to install packages, and the measured library. */
async function copyLibrary(target: string): Promise<void> {
  const manifests = new Bun.Glob("packages/*/package.json").scan(ROOT);
  const paths = ["package.json", "bun.lock", "packages/storage/src", "benchmarks/baseline.json"];
  for await (const path of manifests) paths.push(path);
  for (const path of paths) {
    await mkdir(dirname(join(target, path)), { recursive: true });
    await cp(join(ROOT, path), join(target, path), { recursive: true });
  }
  await writeFile(join(target, ".gitignore"), "node_modules\n");
}

async function apply(path: string, { file, find, replace }: Patch): Promise<void> {
  const source = await readFile(path, "utf8");
  if (source.split(find).length !== 2)
    throw new Error(`${file} does not contain exactly once: ${find}`);
  await writeFile(path, source.replace(find, replace));
}
