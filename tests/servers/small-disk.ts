import { mkdtemp, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

// Continuous integration may ask for rights without a password; on somebody's own machine that
// would be rude.
const SUDO = process.env["CI"] && process.getuid?.() !== 0 ? ["sudo", "-n"] : [];

/** As the first column of /proc/mounts names it, and the folder, with the process it lives for. */
const SOURCE = "idk-test";
const FOLDER = "idk-small-disk-";
const MOUNT = new RegExp(`^${SOURCE} (\\S*/${FOLDER}(\\d+)-\\S+) tmpfs `, "gmu");

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  makeReadOnly(): void;
}

/** A file system of its own, in memory. Throws where that is not possible, and says why. */
export async function smallDisk(megabytes: number): Promise<SmallDisk> {
  if (process.platform !== "linux") throw new Error("only Linux has a tmpfs");
  await removeAbandoned();
  const folder = await mkdtemp(join(tmpdir(), `${FOLDER}${process.pid}-`));
  const owner = `uid=${process.getuid?.()},gid=${process.getgid?.()},mode=700`;
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,${owner}`, SOURCE, folder);
  } catch (error) {
    await rmdir(folder);
    throw error;
  }
  return {
    folder,
    makeReadOnly: () => run("mount", "-o", "remount,ro", folder),
    [Symbol.asyncDispose]: () => remove(folder),
  };
}

/** For `needing`: nothing where `smallDisk` works, otherwise what is missing and why. */
export async function smallDiskMissing(): Promise<string[]> {
  try {
    await using _ = await smallDisk(1);
    return [];
  } catch (error) {
    return [`small disk of its own (${error instanceof Error ? error.message : String(error)})`];
  }
}

async function remove(folder: string): Promise<void> {
  // Lazily, for whoever was killed on it may take a moment to let go.
  run("umount", "-l", folder);
  await rmdir(folder);
}

/** Removes the disks of test runs that were killed. */
async function removeAbandoned(): Promise<void> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  for (const [, folder, owner] of mounts.matchAll(MOUNT)) {
    // Another run may be about to do the same.
    if (!isAlive(Number(owner))) await remove(folder!).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process lives, too.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function run(...command: string[]): void {
  const [program, ...rest] = [...SUDO, ...command];
  const path = Bun.which(program!);
  if (path === null) throw new Error(`${program} is not installed`);
  const { exitCode, stderr } = Bun.spawnSync([path, ...rest]);
  if (exitCode === 0) return;
  // mount tells more in further lines, of what it could not do after all.
  const [reason = ""] = stderr.toString().trim().split("\n");
  throw new Error(reason === "" ? `${command.join(" ")} failed` : reason);
}
