import { copyFile, lstat, mkdir, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ROOT } from "./bench.ts";
import { ok as succeed } from "../packages/projects.ts";
import { tmpdir } from "node:os";

/** A copy of this repository, with its packages, in which faults are planted. */
export interface PlantedCopy extends AsyncDisposable {
  readonly root: string;
  /** A folder for files that are not part of the copy. */
  readonly temporary: string;
  /** Applies patches of the folder `faults`, by name, to the unchanged sources. */
  plant(patches: readonly string[]): Promise<void>;
  /** Runs git in the copy, which is a repository with one commit, `unchanged`. */
  git(...args: string[]): Promise<string>;
}

export function patchFile(name: string): string {
  return join(import.meta.dir, "faults", `${name}.patch`);
}

/**
 * Copies the working tree as it is, changes that are not committed included, and installs its packages,
 * so that the copy measures its own library and not the one beside this file.
 */
export async function plantedCopy(): Promise<PlantedCopy> {
  const above = await mkdtemp(join(tmpdir(), "idk-faults-"));
  const root = join(above, "repository");
  const git = (...args: string[]): Promise<string> => ok(["git", ...args], root);
  const dispose = (): Promise<void> => rm(above, { recursive: true, force: true });
  try {
    const listed = await ok(
      ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
      ROOT,
    );
    await copyFiles(listed.split("\0"), root);
    await git("init", "--quiet", "--initial-branch=unchanged");
    // For every commit in the copy, because the user may have no name, or sign commits.
    await git("config", "user.name", "planted");
    await git("config", "user.email", "planted@localhost");
    await git("config", "commit.gpgsign", "false");
    await git("add", "--all");
    await git("commit", "--quiet", "--no-verify", "--message=unchanged");
    await ok([process.execPath, "install", "--frozen-lockfile"], root);
    const plant = async (patches: readonly string[]): Promise<void> => {
      await git("checkout", "--quiet", "--force", "--detach", "unchanged");
      if (patches.length > 0) await git("apply", ...patches.map(patchFile));
    };
    return { root, temporary: above, plant, git, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function copyFiles(paths: readonly string[], target: string): Promise<void> {
  for (const path of paths) {
    const from = join(ROOT, path);
    // A file that was deleted but not yet committed is still listed.
    if (path === "" || !(await lstat(from).catch(() => undefined))?.isFile()) continue;
    await mkdir(dirname(join(target, path)), { recursive: true });
    await copyFile(from, join(target, path));
  }
}

/** Runs a program that has to succeed, and returns its standard output. */
export function ok(argv: readonly string[], cwd: string): Promise<string> {
  // Hooks set GIT_ variables, which redirect git to another repository.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return succeed(argv, cwd, Object.fromEntries(inherited));
}
