import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { createOutputFile } from "../../src/get/output-file.ts";
import { createWorkspace, noise, sameBytes } from "../support/cli.ts";

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
    spyOn(FileHandle, "sync").mockImplementationOnce(async () => {
      throw Object.assign(new Error("i/o error"), { code: "EIO" });
    });
    const folder = workspace.path(`lost-${kept}`);
    mkdirSync(folder);
    const file = await createOutputFile(`${folder}/film`, { force: false, address, follow: true });
    if (kept) await file.keep();
    await file.write(noise(MiB));
    const failure = await file.commit().catch((error: Error) => error.message);
    expect(failure).toContain("cannot write");
    // The kept data may turn out to be lost after the next run has relied on it.
    expect(await file.discard()).toBeUndefined();
    expect(existsSync(`${folder}/film`)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    [true, true, 1],
    [true, false, 1],
    [false, true, 0],
  ])(
    "is synced once, before it can be read by others (sync: %p, kept: %p)",
    async (synced, kept, times) => {
      const path = workspace.path(`synced-${synced}-${kept}`);
      const options = { force: false, address, follow: true, sync: synced };
      const file = await createOutputFile(path, options);
      const [sync, datasync] = [spyOn(FileHandle, "sync"), spyOn(FileHandle, "datasync")];
      const chmod = spyOn(FileHandle, "chmod");
      if (kept) await file.keep();
      const content = noise(40 * MiB);
      await file.reserve(content.length);
      await file.write(content);
      await file.commit();
      expect(sync).toHaveBeenCalledTimes(times);
      expect(datasync).not.toHaveBeenCalled();
      for (const order of sync.mock.invocationCallOrder) {
        expect(order).toBeLessThan(chmod.mock.invocationCallOrder[0]!);
      }
      expect(sameBytes(readFileSync(path), content)).toBe(true);
    },
  );
});
