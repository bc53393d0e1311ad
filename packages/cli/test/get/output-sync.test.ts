import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { createOutputFile } from "../../src/get/output-file.ts";
import { createWorkspace, noise } from "../support/cli.ts";

const MiB = 2 ** 20;
const workspace = await createWorkspace();
const address = "a".repeat(64);

/** The prototype of open files, to observe their syncs and make them fail. */
const probe = await open(workspace.path("me.key"));
const FileHandle = Object.getPrototypeOf(probe) as typeof probe;
await probe.close();
afterEach(() => {
  mock.restore();
});

describe("an output file", () => {
  test.each([false, true])("does not appear after a failed sync (kept: %p)", async (kept) => {
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
    // The kept data may turn out to be lost after the next run has relied on it.
    expect(await file.discard()).toBeUndefined();
    expect(existsSync(`${folder}/film`)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    [false, 1],
    [true, 2],
  ])("is synced as rarely as possible (kept: %p)", async (kept, times) => {
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
    // The last sync also writes the mode.
    expect(sync.mock.invocationCallOrder.at(-1)).toBeGreaterThan(
      chmod.mock.invocationCallOrder[0]!,
    );
  });
});
