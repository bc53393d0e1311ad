import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import {
  type SyncCalls,
  type WrittenFile,
  createSyncFiles,
  reportsErrors,
} from "../../../src/get/small-files/sync-files.ts";
import { createWorkspace } from "../../support/cli.ts";

const { path } = await createWorkspace();

const EXT4 = 0xef53;

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
  const syncFiles = createSyncFiles({
    typeOf: () => EXT4,
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

test("many files are synced together, and one of them again, and few one by one", () => {
  using many = synced(5);
  expect(many.on()).toEqual([0, 1, 2, 3, 4]);
  expect(many.noted).toEqual(["all", 0]);
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
  expect(slow.noted).toEqual(["all", 0, 0, 1, 2, 3, 4]);
});

test("only file systems that are known to write everything are synced as a whole", () => {
  const types = [EXT4, 0x9123_683e, 0x9123_683e | 0, 0x6969, 0x6573_5546, 0x794c_7630];
  const whole = types.filter((type) => {
    using files = synced(5, { typeOf: () => type });
    expect(files.on()).toEqual([0, 1, 2, 3, 4]);
    return files.noted.includes("all");
  });
  expect(whole).toEqual(types.slice(0, 3));
  using unknown = synced(5, { typeOf: () => expect.unreachable() });
  expect(unknown.on()).toEqual([0, 1, 2, 3, 4]);
  expect(unknown.noted).toEqual([0, 1, 2, 3, 4]);
});

test("a file of which the system says nothing is synced by itself, and the others are together", () => {
  using files = synced(6);
  closeSync(files.files[2]!.descriptor);
  expect(files.on()).toEqual([0, 1, 3, 4, 5, 2]);
  expect(files.noted).toEqual(["all", 0, 2]);
  files.files[2] = { descriptor: openSync(path("again"), "w") };
});

test.each([
  ["linux", "5.17.0", true],
  ["linux", "5.19.0-50-generic", true],
  ["linux", "6.1-rc3", true],
  ["linux", "5.15.0-125-generic", false],
  ["linux", "4.18.0-553.el8_10.x86_64", false],
  ["linux", "unknown", false],
  ["darwin", "24.1.0", false],
])("the system reports errors of a whole file system: %s %s", (platform, version, reports) => {
  expect(reportsErrors(platform, version)).toBe(reports);
});
