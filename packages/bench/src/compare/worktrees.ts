import { cp, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Usage } from "../command/usage.ts";
import type { Revision } from "./comparison.ts";
import { output } from "./program.ts";

export interface CheckOutOptions {
  /** A folder in the repository. */
  readonly repository: string;
  readonly base: string;
  readonly head: string;
  /** Keeps everything. */
  readonly keep: boolean;
  /** The parent folder of the worktrees, by default the system's temporary folder. */
  readonly temporary?: string | undefined;
  readonly signal: AbortSignal;
  log(line: string): void;
}

export interface CheckedOut extends Revision {
  /** The path of its copy of the measuring code, next to its own library. */
  readonly roundScript: string;
}

export interface Worktrees extends AsyncDisposable {
  readonly base: CheckedOut;
  readonly head: CheckedOut;
  /** The temporary folder with both worktrees; more may be put there. */
  readonly folder: string;
}

/** The measuring code is copied into the package, so that `@idk/storage` resolves to that package. */
const PACKAGE = "packages/storage";
const OVERLAY = ".idk-bench-round";

/**
 * Checks out two revisions into a temporary folder with their locked packages, and copies the measuring
 * code of the current revision into both.
 *
 * @throws Usage if a revision is unknown or lacks the library; Error if its packages do not install; the
 *   signal's reason
 */
export async function checkOut(options: CheckOutOptions): Promise<Worktrees> {
  const { repository, keep, temporary = tmpdir(), signal, log } = options;
  // Cleaning up must work after the signal has fired.
  const git = (args: readonly string[], stop: AbortSignal = new AbortController().signal) =>
    output({ argv: ["git", ...args], cwd: repository, signal: stop });
  const revisions = {
    base: { name: options.base, commit: await commitOf(options.base, git) },
    head: { name: options.head, commit: await commitOf(options.head, git) },
  };
  // Resolve symbolic links, because git and the runtime report real paths.
  const folder = await realpath(await mkdtemp(join(temporary, "idk-compare-")));
  const dispose = async (): Promise<void> => {
    if (keep) {
      log(`kept ${folder}; delete it and run \`git worktree prune\` to clean up`);
      return;
    }
    await rm(folder, { recursive: true, force: true });
    await git(["worktree", "prune"]);
  };
  /** "base" and "head" have the same length, so that path lengths do not differ. */
  const checkOutOne = async (side: "base" | "head"): Promise<CheckedOut> => {
    const { name, commit } = revisions[side];
    const path = join(folder, side);
    log(`checking out ${name}, ${commit.slice(0, 12)}`);
    await git(["worktree", "add", "--quiet", "--detach", "--force", path, commit], signal);
    const roundScript = await overlay(path, name);
    await install(path, name, signal);
    return { name, commit, roundScript };
  };
  try {
    const base = await checkOutOne("base");
    const head = await checkOutOne("head");
    return { base, head, folder, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function commitOf(
  name: string,
  git: (args: readonly string[]) => Promise<string>,
): Promise<string> {
  // A name that begins with a hyphen must not become an option of git.
  const asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const commit = await git(asked).catch(async () => {
    await git(["rev-parse", "--git-dir"]).catch((cause: unknown) => {
      throw new Usage("this is not a git repository: run compare in a clone of idk", { cause });
    });
    throw new Usage(
      `unknown git revision ${name}: name a branch, a tag or a commit; in a shallow clone, fetch it first`,
    );
  });
  return commit.trim();
}

/** @returns the path of the copied round script */
async function overlay(worktree: string, name: string): Promise<string> {
  const manifest = await readFile(join(worktree, PACKAGE, "package.json"), "utf8").catch(
    () => "{}",
  );
  if ((JSON.parse(manifest) as { name?: unknown }).name !== "@idk/storage") {
    throw new Usage(`${name} has no @idk/storage in ${PACKAGE}: nothing to compare`);
  }
  const target = join(worktree, PACKAGE, OVERLAY);
  await cp(join(import.meta.dir, "round"), target, { recursive: true });
  return join(target, "round.ts");
}

async function install(worktree: string, name: string, signal: AbortSignal): Promise<void> {
  // Without development dependencies, which are most of them.
  const options = ["--frozen-lockfile", "--production", "--ignore-scripts"];
  const argv = [process.execPath, "install", ...options];
  await output({ argv, cwd: worktree, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot install the packages of ${name}: ${message}`, { cause: error });
  });
}
