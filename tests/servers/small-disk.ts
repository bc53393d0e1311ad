import { mkdtemp, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

// CI may use sudo; on a developer's machine the tests must not raise their privileges.
const SUDO = process.env["CI"] && process.getuid?.() !== 0 ? ["sudo", "-n"] : [];

/** The device in /proc/mounts, and the folder, named after the process that owns it. */
const SOURCE = "idk-test";
const FOLDER = "idk-small-disk-";
const MOUNT = new RegExp(`^${SOURCE} (\\S*/${FOLDER}(\\d+)-\\S+) tmpfs `, "gmu");

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  makeReadOnly(): void;
  /** Gives it another size, in megabytes. */
  resize(megabytes: number): void;
}

/** Mounts a new tmpfs. Throws with the reason if that is not possible. */
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
    resize: (size) => run("mount", "-o", `remount,size=${size}m`, folder),
    [Symbol.asyncDispose]: () => remove(folder),
  };
}

/** For `skipIfMissing`: empty if `smallDisk` works, otherwise what is missing and why. */
export async function smallDiskMissing(): Promise<string[]> {
  try {
    await using _ = await smallDisk(1);
    return [];
  } catch (error) {
    return [`tmpfs mount (${error instanceof Error ? error.message : String(error)})`];
  }
}

async function remove(folder: string): Promise<void> {
  // Lazily, because a process killed on it may not have exited yet.
  run("umount", "-l", folder);
  await rmdir(folder);
}

/** Unmounts the disks of test runs that were killed. */
async function removeAbandoned(): Promise<void> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  for (const [, folder, owner] of mounts.matchAll(MOUNT)) {
    // Another run may be doing the same.
    if (!isAlive(Number(owner))) await remove(folder!).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function run(...command: string[]): void {
  const [program, ...rest] = [...SUDO, ...command];
  const path = Bun.which(program!);
  if (path === null) throw new Error(`${program} is not installed`);
  const { exitCode, stderr } = Bun.spawnSync([path, ...rest]);
  if (exitCode === 0) return;
  // The first line of mount's message is the reason.
  const [reason = ""] = stderr.toString().trim().split("\n");
  throw new Error(reason === "" ? `${command.join(" ")} failed` : reason);
}
