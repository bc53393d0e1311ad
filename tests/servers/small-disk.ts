import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";

// Continuous integration may ask for rights without a password; on somebody's own machine that
// would be rude.
const SUDO = process.env["CI"] && process.getuid?.() !== 0 ? ["sudo", "-n"] : [];

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
}

/** A file system of its own, in memory; undefined where that is not allowed. */
export async function smallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  if (process.platform !== "linux") return undefined;
  const folder = await mkdtemp(join(tmpdir(), "idk-server-disk-"));
  const owner = `uid=${process.getuid?.()},gid=${process.getgid?.()},mode=700`;
  const options = `size=${megabytes}m,${owner}`;
  if (!run("mount", "-t", "tmpfs", "-o", options, "idk-test", folder)) {
    await rm(folder, { recursive: true });
    return undefined;
  }
  return {
    folder,
    async [Symbol.asyncDispose]() {
      run("umount", "--lazy", folder);
      await rm(folder, { recursive: true });
    },
  };
}

/** Whether `smallDisk` works here. */
export async function canMount(): Promise<boolean> {
  await using disk = await smallDisk(1);
  return disk !== undefined;
}

function run(...command: string[]): boolean {
  return Bun.spawnSync([...SUDO, ...command]).exitCode === 0;
}
