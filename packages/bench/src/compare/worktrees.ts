import { cp, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Usage } from "../command/usage.ts";
import type { Revision } from "./comparison.ts";
import { output } from "./program.ts";

export interface CheckOutOptions {
  /** A folder within the repository. */
  readonly repository: string;
  readonly base: string;
  readonly head: string;
  /** Leaves everything where it is. */
  readonly keep: boolean;
  /** For the worktrees; by default the system's folder for what is temporary. */
  readonly temporary?: string | undefined;
  readonly signal: AbortSignal;
  log(line: string): void;
}

export interface CheckedOut extends Revision {
  /** Of its own copy of what measures, beside its own library. */
  readonly roundScript: string;
}

export interface Worktrees extends AsyncDisposable {
  readonly base: CheckedOut;
  readonly head: CheckedOut;
  /** The temporary folder of both, where there is room for more. */
  readonly folder: string;
}

/** Within the package that is measured, so that its name leads to itself, and to its libraries. */
const PACKAGE = "packages/storage";
const OVERLAY = ".idk-bench-round";

/**
 * Checks out two revisions into a temporary folder, with their locked packages, and the same
 * measuring code in both: that of this revision, whatever they have of their own.
 *
 * @throws Usage where a revision is unknown or has no such library; Error where its packages do not
 *   install; the signal's reason
 */
export async function checkOut(options: CheckOutOptions): Promise<Worktrees> {
  const { repository, keep, temporary = tmpdir(), signal, log } = options;
  // Afterwards everything has to go also where the signal has fired.
  const git = (args: readonly string[], stop: AbortSignal = new AbortController().signal) =>
    output({ argv: ["git", ...args], cwd: repository, signal: stop });
  const revisions = {
    base: { name: options.base, commit: await commitOf(options.base, git) },
    head: { name: options.head, commit: await commitOf(options.head, git) },
  };
  // Real, because git and the runtime name what they find by its real path.
  const folder = await realpath(await mkdtemp(join(temporary, "idk-compare-")));
  const dispose = async (): Promise<void> => {
    if (keep) {
      log(`left in ${folder}; git worktree prune forgets it once it is removed`);
      return;
    }
    await rm(folder, { recursive: true, force: true });
    await git(["worktree", "prune"]);
  };
  /** Paths of one length, so that not even that differs. */
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
  // A name that begins with a hyphen is none of git's options.
  const asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const commit = await git(asked).catch(async () => {
    await git(["rev-parse", "--git-dir"]).catch((cause: unknown) => {
      throw new Usage("this is no git repository: compare from within a clone of idk", { cause });
    });
    throw new Usage(
      `git knows no revision ${name}: give a branch, a tag or a commit, and fetch it where the clone is shallow`,
    );
  });
  return commit.trim();
}

/** @returns the path of the script of a round */
async function overlay(worktree: string, name: string): Promise<string> {
  const manifest = await readFile(join(worktree, PACKAGE, "package.json"), "utf8").catch(
    () => "{}",
  );
  if ((JSON.parse(manifest) as { name?: unknown }).name !== "@idk/storage") {
    throw new Usage(`${name} has no @idk/storage in ${PACKAGE}: there is nothing to compare`);
  }
  const target = join(worktree, PACKAGE, OVERLAY);
  await cp(join(import.meta.dir, "round"), target, { recursive: true });
  return join(target, "round.ts");
}

async function install(worktree: string, name: string, signal: AbortSignal): Promise<void> {
  // Without what only developing takes, which is most of it.
  const argv = [process.execPath, "install", "--frozen-lockfile", "--production"];
  await output({ argv, cwd: worktree, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`the packages of ${name} do not install: ${said}`, { cause: error });
  });
}
