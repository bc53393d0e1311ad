import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { createFolder } from "../../src/folders.ts";
import { writeNewIdentity } from "../../src/keys/new-identity.ts";
import { newFolder } from "../support/cli.ts";

afterEach(() => mock.restore());

// `idk init -i` allows the user to delete the file that it copied.
test("a new key file is flushed to the disk, with its name and its new folders", async () => {
  const folder = newFolder();
  const probe = await open(folder);
  const FileHandle = Object.getPrototypeOf(probe) as typeof probe;
  await probe.close();
  const { sync } = FileHandle;
  const synced: number[] = [];
  spyOn(FileHandle, "sync").mockImplementation(async function recording(this: typeof probe) {
    synced.push((await this.stat()).ino);
    return sync.call(this);
  });
  const inodeOf = (path: string) => statSync(join(folder, path)).ino;

  expect(await createFolder(join(folder, "share/idk"))).toBe(true);
  expect(synced).toEqual([inodeOf("share"), inodeOf(".")]);
  await writeNewIdentity(join(folder, "share/idk/me.key"), undefined);
  expect(synced.slice(2)).toEqual([inodeOf("share/idk/me.key"), inodeOf("share/idk")]);

  expect(await createFolder(join(folder, "share/idk"))).toBe(false);
  expect(synced).toHaveLength(4);
});
