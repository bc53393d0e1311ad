import { expect, test } from "bun:test";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  noise,
  sameBytes,
  until,
} from "../support/cli.ts";

const { env, folder, idk, ok, put } = await createWorkspace();
const MiB = 2 ** 20;

/** The number of worker threads of a put that has read 40 MiB and waits for more, once it has as many. */
async function workersOf(args: readonly string[], extra: Record<string, string>, expected: number) {
  const child = Bun.spawn([process.execPath, MAIN, "put", "-", ...args], {
    cwd: folder,
    env: isolated({ ...env, ...extra }),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  try {
    void child.stdin.write(noise(40 * MiB));
    await child.stdin.flush();
    // The runtime names them; it has other threads as well, whose number varies.
    const tasks = `/proc/${child.pid}/task`;
    const nameOf = (task: string) => {
      try {
        return readFileSync(join(tasks, task, "comm"), "utf8").trim();
      } catch {
        // It has ended since it was listed.
        return undefined;
      }
    };
    const count = () => readdirSync(tasks).filter((task) => nameOf(task) === "Worker").length;
    await until(async () => count() >= expected);
    // A thread that a worker starts has the worker's name until it takes its own.
    const counts: number[] = [];
    for (let looks = 0; looks < 5; looks++) {
      counts.push(count());
      await Bun.sleep(20);
    }
    return Math.min(...counts);
  } finally {
    child.kill();
    await child.exited;
  }
}

const onLinux = process.platform === "linux" ? test : test.skip;
onLinux(
  "threads are as many as were asked for, by flag or variable",
  async () => {
    expect(await workersOf(["--workers", "12"], {}, 12)).toBe(12);
    expect(await workersOf([], { IDK_WORKERS: "12" }, 12)).toBe(12);
  },
  60_000,
);

test("stores the same content with and without threads", async () => {
  const content = noise(40 * MiB);
  const address = await put(content, "--workers", "2");
  for (const workers of ["0", "2"]) {
    const { bytes } = await ok(["get", address, "--workers", workers]);
    expect(sameBytes(bytes, content)).toBe(true);
    await ok(["verify", address, "--deep", "--workers", workers]);
  }
});

test.each(["-1", "65", "two", "1.5"])("rejects %s as a number of threads", async (given) => {
  const message = "--workers or IDK_WORKERS must be a number from 0 to 64";
  expectFailure(await idk(["put", "-", `--workers=${given}`], { stdin: "x" }), 2, message);
});
