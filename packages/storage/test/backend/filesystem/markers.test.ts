import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend } from "../../../src/backend/backend.ts";
import { filesystem } from "../../../src/backend/filesystem.ts";
import { createStore, replicate } from "../../../src/index.ts";
import { alice } from "../../support.ts";
import { rejects } from "../rejects.ts";

const HOUR = 60 * 60 * 1000;
const CHAIN = "0123456789abcdef0123456789abcdef";
const FILE = `fffffe5e11a9a1ff-${"ab".repeat(32)}`;
const NAME = `${CHAIN}/${FILE}`;
const TEMPORARY = ".tmp-01234567-89ab-4def-8123-456789abcdef";

let place: string;
let directory: string;
let backend: Backend;

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "idk-markers-"));
  directory = join(place, "store");
  await mkdir(directory);
  backend = filesystem(directory);
});

afterEach(async () => {
  await rm(place, { recursive: true });
});

const names = async (from: Backend = backend, prefix = "") =>
  (await Array.fromAsync(from.listMarkers!(prefix))).map(({ name }) => name);

test("a marker is an empty file that only the owner can access, dated by the file system", async () => {
  await backend.putMarker!(NAME);
  const path = join(directory, "heads", NAME);
  const { size, mode, mtimeMs } = await stat(path);
  expect([size, mode & 0o777]).toEqual([0, 0o600]);
  expect((await stat(join(directory, "heads", CHAIN))).mode & 0o777).toBe(0o700);
  expect(await Array.fromAsync(backend.listMarkers!(""))).toEqual([
    { name: NAME, storedAt: Math.trunc(mtimeMs) },
  ]);
});

test("a second put keeps the file, its time and what others put into it", async () => {
  await backend.putMarker!(NAME);
  const path = join(directory, "heads", NAME);
  await writeFile(path, "not looked at");
  await utimes(path, 1_000_000, 1_000_000);
  await filesystem(directory).putMarker!(NAME);
  expect(await Array.fromAsync(backend.listMarkers!(""))).toEqual([
    { name: NAME, storedAt: 1_000_000_000 },
  ]);
  expect((await stat(path)).size).toBe(13);
});

describe("durability", () => {
  async function syncsDuring(work: () => Promise<void>): Promise<number> {
    const handle = await open(import.meta.path);
    await handle.close();
    const syncs = spyOn(Object.getPrototypeOf(handle) as FileHandle, "sync");
    try {
      await work();
      return syncs.mock.calls.length;
    } finally {
      syncs.mockRestore();
    }
  }

  test("syncs the file, its folder, the entries of all folders above, and a deletion", async () => {
    await rm(directory, { recursive: true });
    // The file with the time, and the root's parent.
    const create = async () => void (await backend.currentTime!({ create: true }));
    expect(await syncsDuring(create)).toBe(2);
    // The file, its chain, heads and the root.
    expect(await syncsDuring(() => backend.putMarker!(NAME))).toBe(4);
    expect(await syncsDuring(() => backend.putMarker!(NAME.replace("-ab", "-cd")))).toBe(2);
    expect(await syncsDuring(() => backend.deleteMarker!(NAME))).toBe(1);
  });

  test("syncs what another process has stored and may not have synced yet", async () => {
    await filesystem(directory, { durability: "none" }).putMarker!(NAME);
    expect(await syncsDuring(() => backend.putMarker!(NAME))).toBe(4);
  });
});

describe("what is not a marker", () => {
  test("is not listed and not touched", async () => {
    await backend.putMarker!(NAME);
    const heads = join(directory, "heads");
    const foreign = [
      "README",
      `${CHAIN}/README`,
      `${CHAIN}/${FILE}0`,
      `${CHAIN}/${FILE.toUpperCase()}`,
      `${CHAIN}/${FILE}.tmp`,
      `${CHAIN.slice(1)}/${FILE}`,
      `x/${FILE}`,
      FILE,
    ];
    for (const path of foreign) {
      await mkdir(join(heads, path, ".."), { recursive: true });
      await writeFile(join(heads, path), "");
      await utimes(join(heads, path), 0, 0);
    }
    const other = FILE.replace("ab", "ff");
    await mkdir(join(heads, CHAIN, other));
    await symlink(join(heads, NAME), join(heads, CHAIN, FILE.replace("ab", "ee")));
    expect(await names()).toEqual([NAME]);
    for (const path of foreign) expect((await stat(join(heads, path))).isFile()).toBe(true);
    await rejects(backend.putMarker!(`${CHAIN}/${other}`), "unavailable", "not a regular file");
  });

  test.each([
    "",
    "..",
    `../${FILE}`,
    `${CHAIN}/../../${FILE}`,
    `/${NAME}`,
    NAME.toUpperCase(),
    `${NAME}/`,
    `${NAME}\n`,
    NAME.slice(0, -1),
    "ab".repeat(32),
  ])("is a usage error as a name: %p", async (name) => {
    await rejects(backend.putMarker!(name), "usage", "a marker's name must be");
    await rejects(backend.deleteMarker!(name), "usage", "a marker's name must be");
    expect(await readdir(place)).toEqual(["store"]);
    expect(await readdir(directory)).toEqual([]);
  });
});

test("a folder with more markers than are held in memory is listed in order", async () => {
  await backend.putMarker!(NAME);
  const folder = join(directory, "heads", CHAIN);
  const expected = [NAME];
  // More than two times the number that is sorted at once.
  const files = Array.from({ length: 17_000 }, (_, i) => {
    const digits = ((i * 7919) % 17_000).toString(16).padStart(16, "0");
    return `${digits}-${"cd".repeat(32)}`;
  });
  for (const file of files) expected.push(`${CHAIN}/${file}`);
  for (let i = 0; i < files.length; i += 500) {
    await Promise.all(files.slice(i, i + 500).map((file) => writeFile(join(folder, file), "")));
  }
  expect(await names()).toEqual(expected.toSorted());
}, 60_000);

describe("the time", () => {
  test("is that of a file made now, which is deleted", async () => {
    const time = await backend.currentTime!();
    expect(Math.abs(time - Date.now())).toBeLessThan(5000);
    expect(await readdir(join(directory, "heads"))).toEqual([]);
  });

  test("leaves files of crashes to a listing, which deletes those older than an hour", async () => {
    await backend.putMarker!(NAME);
    const heads = join(directory, "heads");
    for (const [name, age] of [
      [TEMPORARY, 2 * HOUR],
      [TEMPORARY.replace("0123", "4567"), HOUR / 2],
    ] as const) {
      await writeFile(join(heads, name), "");
      const time = (Date.now() - age) / 1000;
      await utimes(join(heads, name), time, time);
    }
    expect(await names()).toEqual([NAME]);
    expect((await readdir(heads)).toSorted()).toEqual([TEMPORARY.replace("0123", "4567"), CHAIN]);
  });
});

test("a missing directory is an error, and is made only if the time is asked for to make it", async () => {
  await rm(directory, { recursive: true });
  await rejects(names(), "unavailable", "does not exist");
  await rejects(backend.deleteMarker!(NAME), "unavailable", "does not exist");
  await rejects(backend.putMarker!(NAME), "unavailable", "does not exist");
  await rejects(backend.currentTime!(), "unavailable", "does not exist");
  expect(await readdir(place)).toEqual([]);
  await backend.currentTime!({ create: true });
  await backend.putMarker!(NAME);
  expect(await names()).toEqual([NAME]);
});

test("a store and the repository below it do not see each other", async () => {
  const repository = filesystem(join(directory, "repo"));
  const store = createStore({ backend, recipients: [alice.recipient], identities: [alice] });
  const address = await store.put("in the store");
  const inside = createStore({ backend: repository, recipients: [alice.recipient] });
  const other = await inside.put("in the repository");
  await repository.putMarker!(NAME);

  expect((await Array.fromAsync(store.list())).map((blob) => blob.address)).toEqual([address]);
  expect((await Array.fromAsync(inside.list())).map((blob) => blob.address)).toEqual([other]);
  expect(await names()).toEqual([]);
  expect(await names(repository)).toEqual([NAME]);

  const copy = filesystem(join(place, "copy"));
  await mkdir(join(place, "copy"));
  expect(await replicate(backend, copy)).toMatchObject({ copied: 1, failed: 0 });
  await store.delete(address);
  expect(await Array.fromAsync(inside.list())).toHaveLength(1);
  expect(await names(repository)).toEqual([NAME]);
});
