import { existsSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Usage } from "../command/usage.ts";
import { git, run } from "../harness/processes.ts";
import { type Library, ROUND } from "./processes.ts";

export interface CheckOutOptions {
  /** A folder in the repository. */
  readonly repository: string;
  readonly base: string;
  readonly head: string;
  readonly signal: AbortSignal;
  log(line: string): void;
}

export interface CheckedOut extends Library {
  /** 40 hex digits. */
  readonly commit: string;
}

/** Disposing removes the folder. */
export interface Checkouts extends Disposable {
  readonly base: CheckedOut;
  readonly head: CheckedOut;
  /** A temporary folder with both; more may be put there. */
  readonly folder: string;
}

/** The measuring code is put into the package, so that `@idk/storage` resolves to that package. */
const PACKAGE = "packages/storage";

/**
 * Writes the files of two revisions into a temporary folder, with their locked packages and the measuring
 * code of this working tree. The repository is only read.
 *
 * @throws Usage if a revision is unknown or lacks the library; Error if its packages do not install; the
 *   signal's reason
 */
export async function checkOut(options: CheckOutOptions): Promise<Checkouts> {
  const { repository, signal, log } = options;
  const commits = {
    base: await commitOf(options.base, repository),
    head: await commitOf(options.head, repository),
  };
  // Resolve symbolic links, because the runtime reports real paths.
  const folder = await realpath(await mkdtemp(join(tmpdir(), "idk-compare-")));
  // Synchronously, so that nothing ends the process meanwhile; if something ends it before, on exit.
  const remove = (): void => {
    process.off("exit", remove);
    // If an entry disappears meanwhile, as one of a process that removes its own files, Bun's rm with `force`
    // returns without an error and leaves the rest.
    for (let tries = 0; tries < 10 && existsSync(folder); tries++) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  };
  process.on("exit", remove);
  /** "base" and "head" have the same length, so that path lengths do not differ. */
  const checkOutOne = async (side: "base" | "head"): Promise<CheckedOut> => {
    const [name, commit, path] = [options[side], commits[side], join(folder, side)];
    log(`checking out ${name}, ${commit.slice(0, 12)}`);
    await mkdir(path);
    await git(repository, ["archive", `--output=${path}.tar`, commit], signal);
    await run({ argv: ["tar", "-xf", `${path}.tar`, "-C", path], signal });
    const manifest = join(path, PACKAGE, "package.json");
    const { name: found } = JSON.parse(await readFile(manifest, "utf8").catch(() => "{}"));
    if (found !== "@idk/storage") {
      throw new Usage(`${name} has no @idk/storage in ${PACKAGE}: nothing to compare`);
    }
    await install(path, name, signal);
    return { name, commit, script: await bundleRound(join(path, PACKAGE)) };
  };
  try {
    const [base, head] = [await checkOutOne("base"), await checkOutOne("head")];
    return { base, head, folder, [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function commitOf(name: string, repository: string): Promise<string> {
  // A name that begins with a hyphen must not become an option of git.
  const asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const commit = await git(repository, asked).catch(async () => {
    await git(repository, ["rev-parse", "--git-dir"]).catch((cause: unknown) => {
      throw new Usage("this is not a git repository: run compare in a clone of idk", { cause });
    });
    throw new Usage(
      `unknown git revision ${name}: name a branch, a tag or a commit; in a shallow clone, fetch it first`,
    );
  });
  return commit.trim();
}

async function install(path: string, name: string, signal: AbortSignal): Promise<void> {
  // Without half of the packages: those for development, and of the benchmarks.
  const which = ["--frozen-lockfile", "--production", "--ignore-scripts", "--filter=!@idk/bench"];
  const argv = [process.execPath, "install", `--cwd=${path}`, ...which];
  await run({ argv, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot install the packages of ${name}: ${message}`, { cause: error });
  });
}

/** Puts the measuring code into a package as one script, and returns its path. */
export async function bundleRound(folder: string): Promise<string> {
  const outdir = join(folder, ".idk-bench-round");
  await Bun.build({ entrypoints: [ROUND], outdir, target: "bun" });
  return join(outdir, "round.js");
}
