import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { withFileLock } from "../../src/repository/file-lock.ts";

const folder = mkdtempSync(join(tmpdir(), "idk-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("work under a lock is done one at a time, also where some of it fails", async () => {
  const path = join(folder, "one.lock");
  let running = 0;
  const work = async (i: number): Promise<number> => {
    running += 1;
    expect(running).toBe(1);
    await Bun.sleep(2);
    running -= 1;
    if (i % 2 === 1) throw new Error("failed");
    return i;
  };
  const all = Array.from({ length: 6 }, (_, i) => withFileLock(path, () => work(i)));
  const outcomes = (await Promise.allSettled(all)).map(({ status }) => status);
  expect(outcomes.filter((status) => status === "fulfilled").length).toBe(3);
  expect(existsSync(path)).toBe(false);
});

test("a lock that a crash has left is removed when it has not changed for a while", async () => {
  const path = join(folder, "left.lock");
  writeFileSync(path, "");
  const start = performance.now();
  expect(await withFileLock(path, async () => "done", { leftMs: 100 })).toBe("done");
  expect(performance.now() - start).toBeGreaterThan(100);
  symlinkSync("nowhere", path);
  expect(await withFileLock(path, async () => "done", { leftMs: 100 })).toBe("done");
  expect(existsSync(path)).toBe(false);
});

test("a lock that cannot be made is an error", async () => {
  const made = withFileLock(join(folder, "missing", "one.lock"), async () => "done");
  expect(await made.catch((error: NodeJS.ErrnoException) => error.code)).toBe("ENOENT");
});
