import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { createOutputFile } from "../../src/get/output-file.ts";
import { createWorkspace, noise } from "../support/cli.ts";

const MiB = 2 ** 20;
const workspace = await createWorkspace();
const address = "a".repeat(64);

/** What every open file inherits, so that its syncs can be watched, and made to fail. */
const probe = await open(workspace.path("me.key"));
const FileHandle = Object.getPrototypeOf(probe) as typeof probe;
await probe.close();
afterEach(() => {
  mock.restore();
});

describe("a file that is written", () => {
  test.each([false, true])("is not named over what the disk has lost (kept: %p)", async (kept) => {
    spyOn(FileHandle, "datasync").mockImplementationOnce(async () => {
      throw Object.assign(new Error("i/o error"), { code: "EIO" });
    });
    const folder = workspace.path(`lost-${kept}`);
    mkdirSync(folder);
    const file = await createOutputFile(`${folder}/film`, { force: false, address, follow: true });
    if (kept) await file.keep();
    await file.write(noise(32 * MiB));
    const failure = await file.commit().catch((error: Error) => error.message);
    expect(failure).toContain("cannot write");
    // What is there now may be gone when the next run has counted on it.
    expect(await file.discard()).toBeUndefined();
    expect(existsSync(`${folder}/film`)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    [false, 1],
    [true, 2],
  ])("is synced no more often than it takes (kept: %p)", async (kept, times) => {
    const file = await createOutputFile(workspace.path(`kept-${kept}`), {
      force: false,
      address,
      follow: true,
    });
    if (kept) await file.keep();
    await file.write(noise(1000));
    const sync = spyOn(FileHandle, "sync");
    const chmod = spyOn(FileHandle, "chmod");
    await file.commit();
    expect(sync).toHaveBeenCalledTimes(times);
    // The last one has the mode on disk as well.
    expect(sync.mock.invocationCallOrder.at(-1)).toBeGreaterThan(
      chmod.mock.invocationCallOrder[0]!,
    );
  });
});
