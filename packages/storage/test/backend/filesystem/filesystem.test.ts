import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { readdirSync, rmSync, truncateSync } from "node:fs";
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  readdir,
  open,
  readFile,
  rename,
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
import { StorageError } from "../../../src/errors.ts";
import { rejects } from "../rejects.ts";

const HOUR = 60 * 60 * 1000;
const NAME = "ab".padEnd(64, "0123456789");
const OTHER = "cd".padEnd(64, "0123456789");
const BYTES = Buffer.from("opaque bytes");
const TEMPORARY = ".tmp-01234567-89ab-4def-8123-456789abcdef";

let place: string;
let directory: string;
let backend: Backend;

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "idk-filesystem-"));
  directory = join(place, "store");
  backend = filesystem(directory);
});

afterEach(async () => {
  await rm(place, { recursive: true });
});

describe("durability", () => {
  /** The number of fsync calls. */
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

  test.each([
    // The file, its folder, the root with the folder's entry, and the root's parent.
    [undefined, 4, 2, 1],
    ["full", 4, 2, 1],
    ["none", 0, 0, 0],
  ] as const)("%s brings changes to the disk, or not", async (durability, first, next, removal) => {
    const place = filesystem(directory, { durability });
    expect(await syncsDuring(() => place.put(NAME, BYTES))).toBe(first);
    expect(await syncsDuring(() => place.put(NAME, BYTES))).toBe(next);
    expect(await syncsDuring(() => place.delete(NAME))).toBe(removal);
  });
});

describe("files on the disk", () => {
  test("a blob is a file under the first two digits of its name", async () => {
    await backend.put(NAME, BYTES);
    expect(await tree(directory)).toEqual(["ab", `ab/${NAME}`]);
    expect(await readFile(pathOf(NAME))).toEqual(BYTES);
  });

  test("only the owner can access files and folders", async () => {
    const deep = join(place, "new", "folders", "store");
    await filesystem(deep).put(NAME, BYTES);
    for (const folder of ["new", "new/folders", "new/folders/store", "new/folders/store/ab"]) {
      expect(await modeOf(join(place, folder))).toBe(0o700);
    }
    expect(await modeOf(join(deep, "ab", NAME))).toBe(0o600);
  });

  test("the mode of an existing directory is kept", async () => {
    await mkdir(directory, { mode: 0o750 });
    await backend.put(NAME, BYTES);
    expect(await modeOf(directory)).toBe(0o750);
  });

  test("replacing a blob creates a new file, so that a reader keeps the old one", async () => {
    await backend.put(NAME, BYTES);
    const before = await stat(pathOf(NAME));
    await backend.put(NAME, BYTES);
    expect((await stat(pathOf(NAME))).ino).not.toBe(before.ino);
  });

  test("a relative directory does not change with the working directory", async () => {
    const home = process.cwd();
    process.chdir(place);
    try {
      const relative = filesystem("store");
      expect(relative.description).toBe("filesystem store");
      process.chdir(home);
      await relative.put(NAME, BYTES);
    } finally {
      process.chdir(home);
    }
    expect(await tree(directory)).toContain(`ab/${NAME}`);
  });

  test("an empty directory is a usage error", () => {
    expect(() => filesystem("")).toThrow("must not be empty");
  });

  test("an unknown durability is a usage error", () => {
    const durability = "some" as "none";
    expect(() => filesystem(directory, { durability })).toThrow('must be "full" or "none"');
  });

  test("an invalid name is a usage error, and touches nothing", async () => {
    for (const name of ["", "ab", "../../escaped", `../${NAME.slice(3)}`, NAME.toUpperCase()]) {
      await rejects(backend.put(name, BYTES), "usage");
      await rejects(backend.get(name, new Uint8Array(100)), "usage");
      await rejects(backend.head(name), "usage");
      await rejects(backend.delete(name), "usage");
    }
    expect(await tree(place)).toEqual([]);
  });

  test("the directory and its folders may be symbolic links", async () => {
    await mkdir(join(place, "disk", "shard"), { recursive: true });
    await symlink(join(place, "disk"), directory);
    await symlink(join(place, "disk", "shard"), join(directory, "ab"));
    await backend.put(NAME, BYTES);
    expect(await tree(join(place, "disk", "shard"))).toEqual([NAME]);
    await expectHolds(NAME, BYTES);
    expect(await listed("")).toEqual([NAME]);
  });
});

describe("temporary files", () => {
  test("are not left by a put that succeeds", async () => {
    await Promise.all([1, 2, 3, 4].map(() => backend.put(NAME, BYTES)));
    expect(await readdir(join(directory, "ab"))).toEqual([NAME]);
  });

  test("are not left by a put that is aborted at any step", async () => {
    const bytes = new Uint8Array(10 * 2 ** 20);
    for (let step = 2; step <= STEPS_OF_PUT; step++) {
      const signal = signalWith((look) => look >= step);
      await rejects(backend.put(NAME, bytes, { signal }), "aborted");
      expect(await readdir(join(directory, "ab"))).toEqual([]);
    }
    await backend.put(NAME, bytes, { signal: signalWith((look) => look > STEPS_OF_PUT) });
    expect(await listed("")).toEqual([NAME]);
  });

  test("are not left by a put that fails", async () => {
    await mkdir(pathOf(NAME), { recursive: true });
    await rejects(
      backend.put(NAME, BYTES),
      "unavailable",
      "there is a folder in place of the blob",
    );
    expect(await readdir(join(directory, "ab"))).toEqual([NAME]);
  });

  test("of other writers are not blobs", async () => {
    await backend.put(NAME, BYTES);
    await writeFile(join(directory, "ab", TEMPORARY), "half a blob");
    expect(await listed("")).toEqual([NAME]);
    expect(await listed("ab")).toEqual([NAME]);
  });

  test("are deleted by a listing if older than an hour", async () => {
    await backend.put(NAME, BYTES);
    const young = await temporaryOfAge(HOUR - 60_000);
    await temporaryOfAge(HOUR + 60_000);
    await temporaryOfAge(1000 * HOUR);
    const fromTheFuture = await temporaryOfAge(-HOUR);
    expect(await listed("")).toEqual([NAME]);
    expect(temporariesIn("ab")).toEqual([young, fromTheFuture].toSorted());
  });

  test("are deleted by a listing even without blobs", async () => {
    await mkdir(join(directory, "ab"), { recursive: true });
    await temporaryOfAge(2 * HOUR);
    expect(await listed("a")).toEqual([]);
    expect(temporariesIn("ab")).toEqual([]);
  });

  test("are the only files that a listing deletes", async () => {
    await backend.put(NAME, BYTES);
    const kept = [".tmp-mine", `${TEMPORARY}.bak`, "notes.tmp"];
    for (const name of kept) await writeAged(join(directory, "ab", name), 1000 * HOUR);
    await writeAged(join(directory, TEMPORARY), 1000 * HOUR);
    await utimes(pathOf(NAME), 0, 0);
    expect(await listed("")).toEqual([NAME]);
    expect((await readdir(join(directory, "ab"))).toSorted()).toEqual([...kept, NAME].toSorted());
    expect(await readdir(directory)).toContain(TEMPORARY);
  });

  test("deleted during a put make it fail with a transient error", async () => {
    const signal = beforeRename(() => {
      for (const name of temporariesIn("ab")) rmSync(join(directory, "ab", name));
    });
    const error = await rejects(
      backend.put(NAME, BYTES, { signal }),
      "unavailable",
      "was deleted during the operation",
    );
    expect(error.transient).toBe(true);
    await backend.put(NAME, BYTES);
    await expectHolds(NAME, BYTES);
  });

  test("deleted with the directory during a put make it fail with a transient error", async () => {
    await backend.put(NAME, BYTES);
    const signal = beforeRename(() => rmSync(directory, { recursive: true }));
    const error = await rejects(
      backend.put(NAME, BYTES, { signal }),
      "unavailable",
      "was deleted during the operation",
    );
    expect(error.transient).toBe(true);
    await backend.put(NAME, BYTES);
    await expectHolds(NAME, BYTES);
  });

  test("are created in a new directory if the old one was deleted", async () => {
    await backend.put(NAME, BYTES);
    await rm(directory, { recursive: true });
    await backend.put(NAME, BYTES);
    await expectHolds(NAME, BYTES);
  });
});

describe("foreign files", () => {
  test("are not listed", async () => {
    await backend.put(NAME, BYTES);
    await mkdir(join(directory, "AB"));
    await mkdir(join(directory, "abc"));
    await mkdir(join(directory, "ab", OTHER));
    await mkdir(join(directory, "ab", "ab"));
    for (const path of [
      "README",
      "ff",
      OTHER,
      `ab/${OTHER.slice(2)}`,
      `ab/${NAME}.bak`,
      `ab/${NAME.slice(0, 63)}`,
      `ab/${NAME}0`,
      `ab/ab${NAME.slice(2).toUpperCase().replace("0", "F")}`,
      `ab/.${NAME}`,
      `ab/ab/${NAME}`,
      `AB/${NAME.toUpperCase()}`,
      `abc/${NAME}`,
    ]) {
      await writeFile(join(directory, path), "foreign");
    }
    for (const prefix of ["", "a", "ab", NAME]) expect(await listed(prefix)).toEqual([NAME]);
    for (const prefix of ["f", "ff", "c", "cd", OTHER]) expect(await listed(prefix)).toEqual([]);
  });

  test("in the wrong folder are not listed, even with a blob's name", async () => {
    await backend.put(NAME, BYTES);
    await writeFile(join(directory, "ab", OTHER), "foreign");
    expect(await listed("")).toEqual([NAME]);
    expect(await listed("cd")).toEqual([]);
    await rejects(backend.get(OTHER, new Uint8Array(100)), "not-found");
  });

  test("that are symbolic links are not listed and not followed", async () => {
    await backend.put(NAME, BYTES);
    await mkdir(join(directory, "cd"));
    await symlink(pathOf(NAME), pathOf(OTHER));
    expect(await listed("")).toEqual([NAME]);
    await rejects(backend.get(OTHER, new Uint8Array(100)), "unavailable", "symbolic link");
    await rejects(backend.head(OTHER), "unavailable", "not a regular file");
  });

  test("that are symbolic links are replaced by a blob, and their targets are kept", async () => {
    await backend.put(NAME, BYTES);
    await mkdir(join(directory, "cd"));
    await symlink(pathOf(NAME), pathOf(OTHER));
    await backend.put(OTHER, Buffer.from("the checksum of other data"));
    await expectHolds(NAME, BYTES);
    await backend.delete(OTHER);
    expect(await listed("")).toEqual([NAME]);
  });
});

describe("in place of a blob", () => {
  test("a folder is rejected", async () => {
    await mkdir(pathOf(NAME), { recursive: true });
    await rejects(backend.get(NAME, new Uint8Array(100)), "unavailable", "not a regular file");
    await rejects(backend.head(NAME), "unavailable", "not a regular file");
    await rejects(backend.put(NAME, BYTES), "unavailable", pathOf(NAME));
    // EISDIR on Linux, EPERM on macOS.
    const error = await backend.delete(NAME).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toHaveProperty("message", expect.stringContaining(pathOf(NAME)));
    expect(await listed("")).toEqual([]);
  });

  test("a pipe is rejected at once, and replaced by a blob", async () => {
    await mkdir(join(directory, "ab"), { recursive: true });
    expect(Bun.spawnSync(["mkfifo", pathOf(NAME)]).exitCode).toBe(0);
    await rejects(backend.get(NAME, new Uint8Array(100)), "unavailable", "not a regular file");
    await rejects(backend.head(NAME), "unavailable", "not a regular file");
    expect(await listed("")).toEqual([]);
    await backend.put(NAME, BYTES);
    await expectHolds(NAME, BYTES);
  });

  test("a socket is rejected", async () => {
    await mkdir(join(directory, "ab"), { recursive: true });
    // The path of a socket must be short, so it is created elsewhere and moved.
    const server = Bun.listen({ unix: join(place, "socket"), socket: { data() {} } });
    try {
      await rename(join(place, "socket"), pathOf(NAME));
      await rejects(backend.get(NAME, new Uint8Array(100)), "unavailable");
      await rejects(backend.head(NAME), "unavailable", "not a regular file");
    } finally {
      server.stop(true);
    }
  });

  test("a file in place of a folder is rejected, but a listing skips it", async () => {
    await backend.put(NAME, BYTES);
    await writeFile(join(directory, "cd"), "");
    await rejects(backend.put(OTHER, BYTES), "unavailable", "a parent of this path is a file");
    await rejects(backend.get(OTHER, new Uint8Array(100)), "unavailable", "a parent of this path");
    await rejects(backend.head(OTHER), "unavailable", "a parent of this path is a file");
    expect(await listed("")).toEqual([NAME]);
  });

  test("a blob that shrinks during the read fails with a transient error", async () => {
    await backend.put(NAME, new Uint8Array(1000));
    const signal = signalWith((look) => {
      if (look === 2) truncateSync(pathOf(NAME), 10);
      return false;
    });
    const reading = backend.get(NAME, new Uint8Array(1000), { signal });
    const error = await rejects(reading, "unavailable", "shrank during the read");
    expect(error.transient).toBe(true);
  });
});

/** How often a put of 10 MiB checks its signal: first, before each of three writes, then twice. */
const STEPS_OF_PUT = 6;

/** A signal that calls back at each check, counted from 1, to decide whether it has fired. */
function signalWith(fired: (look: number) => boolean): AbortSignal {
  let looks = 0;
  return Object.defineProperty(new AbortController().signal, "aborted", {
    get: () => fired(++looks),
  });
}

/** A signal that never fires, but runs a function at the last check of a small put. */
function beforeRename(act: () => void): AbortSignal {
  return signalWith((look) => {
    if (look === 4) act();
    return false;
  });
}

function pathOf(name: string): string {
  return join(directory, name.slice(0, 2), name);
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

async function tree(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}

function temporariesIn(shard: string): string[] {
  return readdirSync(join(directory, shard))
    .filter((name) => name.startsWith(".tmp-"))
    .toSorted();
}

async function temporaryOfAge(milliseconds: number): Promise<string> {
  const name = `.tmp-${crypto.randomUUID()}`;
  await writeAged(join(directory, "ab", name), milliseconds);
  return name;
}

async function writeAged(path: string, milliseconds: number): Promise<void> {
  await writeFile(path, "half a blob");
  const time = new Date(Date.now() - milliseconds);
  await utimes(path, time, time);
}

async function listed(prefix: string): Promise<string[]> {
  return (await Array.fromAsync(backend.list(prefix), ({ name }) => name)).toSorted();
}

async function expectHolds(name: string, bytes: Uint8Array): Promise<void> {
  const buffer = Buffer.alloc(bytes.length + 1);
  const length = await backend.get(name, buffer);
  expect(buffer.subarray(0, length)).toEqual(Buffer.from(bytes));
}
