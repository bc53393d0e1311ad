import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "bun:test";

export interface SmallDisk {
  readonly directory: string;
  makeReadOnly(): void;
}

// Continuous integration may ask for rights without a password; on somebody's own machine that
// would be rude.
const SUDO = process.env["CI"] && process.getuid?.() !== 0 ? ["sudo", "-n"] : [];

const canMount = process.platform === "linux" && (await tryMount());

/** A test on a disk of one MiB of its own, in memory. Skipped where mounting is not allowed, but not in CI. */
export function testOnSmallDisk(name: string, body: (disk: SmallDisk) => Promise<void>): void {
  if (!canMount && !process.env["CI"]) {
    test.skip(`${name} (skipped: mounting a tmpfs needs root on Linux)`, () => undefined);
    return;
  }
  test(name, () => onSmallDisk(body));
}

async function tryMount(): Promise<boolean> {
  return onSmallDisk(async () => undefined).then(
    () => true,
    () => false,
  );
}

async function onSmallDisk(body: (disk: SmallDisk) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "idk-small-disk-"));
  try {
    const owner = `uid=${process.getuid?.()},gid=${process.getgid?.()},mode=700`;
    run("mount", "-t", "tmpfs", "-o", `size=1m,${owner}`, "idk-test", directory);
    try {
      await body({
        directory,
        makeReadOnly: () => run("mount", "-o", "remount,ro", directory),
      });
    } finally {
      run("umount", directory);
    }
  } finally {
    await rmdir(directory);
  }
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...SUDO, ...command]);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString().trim()}`);
}
