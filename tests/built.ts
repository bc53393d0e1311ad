import { join } from "node:path";

const root = join(import.meta.dir, "..");

/**
 * Builds what is published, for tests of it that run by themselves. `script/test` has built it before all
 * of them, and says so.
 */
export async function ensureBuilt(): Promise<void> {
  if (process.env["IDK_TEST_BUILT"] === "1") return;
  const build = Bun.spawn([process.execPath, "run", "--silent", "build"], {
    cwd: root,
    stdout: "inherit",
  });
  if ((await build.exited) !== 0) throw new Error("the build failed");
}
