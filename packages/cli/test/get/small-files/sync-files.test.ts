import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import {
  type SyncCalls,
  type WrittenFile,
  createFileSync,
  reportsErrors,
} from "../../../src/get/small-files/sync-files.ts";
import { createWorkspace } from "../../support/cli.ts";

const { path } = await createWorkspace();

/** Syncs so many new files, and notes what is called: `all`, or for each file its number. */
function synced(count: number, calls: SyncCalls = {}, folder: string = path("")) {
  const noted: (string | number)[] = [];
  const files = Array.from({ length: count }, (_, at): WrittenFile => {
    const name = `${folder}/${at}`;
    return { descriptor: openSync(name, "w") };
  });
  const numberOf = (descriptor: number) =>
    files.findIndex((file) => file.descriptor === descriptor);
  const { syncFileSystem = () => true, sync = () => {} } = calls;
  const syncFiles = createFileSync({
    ...calls,
    syncFileSystem: (descriptor) => (noted.push("all"), syncFileSystem(descriptor)),
    sync: (descriptor) => (noted.push(numberOf(descriptor)), sync(descriptor)),
  });
  const on = (): number[] => syncFiles(files).map((file) => files.indexOf(file));
  return {
    on,
    noted,
    files,
    [Symbol.dispose]: () => files.forEach((f) => closeSync(f.descriptor)),
  };
}

test("many files are synced together, and few one by one", () => {
  using many = synced(5);
  expect(many.on()).toEqual([0, 1, 2, 3, 4]);
  expect(many.noted).toEqual(["all"]);
  using few = synced(4);
  expect(few.on()).toEqual([0, 1, 2, 3]);
  expect(few.noted).toEqual([0, 1, 2, 3]);
});

test("each is synced by itself if the system reports an error, and what fails again is left out", () => {
  using failing = synced(5, {
    syncFileSystem: () => false,
    sync: (descriptor) => {
      if (descriptor === failing.files[3]!.descriptor) throw new Error("EIO");
    },
  });
  expect(failing.on()).toEqual([0, 1, 2, 4]);
  expect(failing.noted).toEqual(["all", 0, 1, 2, 3, 4]);
});

test("each is synced by itself once all together took long, because others write much", () => {
  let time = 0;
  const syncFileSystem = () => ((time += 251), true);
  using slow = synced(5, { now: () => time, syncFileSystem });
  expect(slow.on()).toEqual([0, 1, 2, 3, 4]);
  expect(slow.on()).toEqual([0, 1, 2, 3, 4]);
  expect(slow.noted).toEqual(["all", 0, 1, 2, 3, 4]);
});

test.skipIf(process.platform !== "linux")(
  "only file systems that are known to write everything are synced as a whole",
  () => {
    // That of /proc is not.
    const unknown: WrittenFile[] = Array.from({ length: 5 }, () => {
      return { descriptor: openSync("/proc/self/comm", "r") };
    });
    const noted: string[] = [];
    const syncFiles = createFileSync({
      syncFileSystem: () => (noted.push("all"), true),
      sync: () => noted.push("one"),
    });
    expect(syncFiles(unknown)).toEqual(unknown);
    expect(noted).toEqual(["one", "one", "one", "one", "one"]);
    for (const { descriptor } of unknown) closeSync(descriptor);
  },
);

test.each([
  ["linux", "5.8.0", true],
  ["linux", "5.10.0-31-amd64", true],
  ["linux", "6.1-rc3", true],
  ["linux", "5.4.0-200-generic", false],
  ["linux", "4.18.0-553.el8_10.x86_64", false],
  ["linux", "unknown", false],
  ["darwin", "24.1.0", false],
])("the system reports errors of a whole file system: %s %s", (platform, version, reports) => {
  expect(reportsErrors(platform, version)).toBe(reports);
});
