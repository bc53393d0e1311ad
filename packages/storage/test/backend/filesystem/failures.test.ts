import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { skipIfMissing } from "../../../../../tests/servers/require-server.ts";
import { smallDisk, smallDiskMissing } from "../../../../../tests/servers/small-disk.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { filesystem } from "../../../src/backend/filesystem.ts";
import { systemError } from "../../../src/backend/filesystem/errors.ts";
import { type ErrorCode, StorageError } from "../../../src/errors.ts";
import { rejects } from "../rejects.ts";

const onSmallDisk = skipIfMissing(await smallDiskMissing());

const NAME = "ab".padEnd(64, "0123456789");
const OTHER = "cd".padEnd(64, "0123456789");
const BYTES = Buffer.from("opaque bytes");

let place: string;
let directory: string;
let backend: Backend;

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "idk-filesystem-"));
  // So that the unprivileged user of these tests can reach the store.
  await chmod(place, 0o755);
  directory = join(place, "store");
  backend = filesystem(directory);
});

afterEach(async () => {
  await rm(place, { recursive: true });
});

describe("a directory that does not exist", () => {
  test("is not an empty store, and reads do not create it", async () => {
    const text = `the folder ${directory} does not exist`;
    await rejects(backend.get(NAME, new Uint8Array(1)), "unavailable", text);
    await rejects(backend.head(NAME), "unavailable", text);
    await rejects(backend.delete(NAME), "unavailable", text);
    for (const prefix of ["", "a", NAME]) {
      const error = await rejects(list(prefix), "unavailable", text);
      expect(error.transient).toBe(false);
    }
    expect(await readdir(place)).toEqual([]);
  });

  test("is an empty store once it exists", async () => {
    await mkdir(directory);
    await rejects(backend.get(NAME, new Uint8Array(1)), "not-found");
    expect(await backend.head(NAME)).toBeUndefined();
    await backend.delete(NAME);
    expect(await list("")).toEqual([]);
  });
});

test("a file where the directory should be is unavailable", async () => {
  await writeFile(directory, "not a store");
  const text = "a parent of this path is a file";
  await rejects(backend.put(NAME, BYTES), "unavailable", text);
  await rejects(backend.get(NAME, new Uint8Array(1)), "unavailable", text);
  await rejects(backend.head(NAME), "unavailable", text);
  await rejects(backend.delete(NAME), "unavailable", text);
  await rejects(list(""), "unavailable", text);
});

describe("without permission", () => {
  test("a directory that cannot be entered fails", async () => {
    await backend.put(NAME, BYTES);
    await chmod(directory, 0);
    await unprivileged(async () => {
      await rejects(backend.put(NAME, BYTES), "permission", directory);
      await rejects(backend.get(NAME, new Uint8Array(100)), "permission", directory);
      await rejects(backend.head(NAME), "permission", directory);
      await rejects(backend.delete(NAME), "permission", directory);
      await rejects(list(""), "permission", directory);
    });
    await chmod(directory, 0o700);
  });

  test("a read-only directory can be read", async () => {
    await backend.put(NAME, BYTES);
    await chmod(directory, 0o555);
    await chmod(join(directory, "ab"), 0o555);
    await chmod(join(directory, "ab", NAME), 0o444);
    await unprivileged(async () => {
      await rejects(backend.put(NAME, BYTES), "permission", "check the owner and mode");
      await rejects(backend.put(OTHER, BYTES), "permission", "check the owner and mode");
      await rejects(backend.delete(NAME), "permission", "check the owner and mode");
      expect(await backend.get(NAME, new Uint8Array(100))).toBe(BYTES.length);
      expect(await list("")).toEqual([NAME]);
    });
    await chmod(directory, 0o700);
    await chmod(join(directory, "ab"), 0o700);
  });

  test("a directory cannot be created without write permission", async () => {
    await chmod(place, 0o555);
    await unprivileged(async () => {
      await rejects(backend.put(NAME, BYTES), "permission", directory);
    });
    await chmod(place, 0o755);
  });

  test("a folder that cannot be read fails the listing", async () => {
    await backend.put(NAME, BYTES);
    await backend.put(OTHER, BYTES);
    await chmod(directory, 0o755);
    await chmod(join(directory, "ab"), 0o755);
    await chmod(join(directory, "cd"), 0);
    await unprivileged(async () => {
      await rejects(list(""), "permission", directory);
      expect(await list("ab")).toEqual([NAME]);
    });
    await chmod(join(directory, "cd"), 0o700);
  });

  test("a blob that cannot be read fails", async () => {
    await backend.put(NAME, BYTES);
    await chmod(directory, 0o755);
    await chmod(join(directory, "ab"), 0o755);
    await chmod(join(directory, "ab", NAME), 0);
    await unprivileged(async () => {
      await rejects(backend.get(NAME, new Uint8Array(100)), "permission", NAME);
    });
  });
});

onSmallDisk("a disk mounted read-only", () => {
  test("can be read, but not written", async () => {
    await using disk = await smallDisk(1);
    const onDisk = filesystem(disk.folder);
    await onDisk.put(NAME, BYTES);
    disk.makeReadOnly();
    await rejects(onDisk.put(NAME, BYTES), "permission", "mounted read-only");
    await rejects(onDisk.put(OTHER, BYTES), "permission", "mounted read-only");
    await rejects(onDisk.delete(NAME), "permission", "mounted read-only");
    expect(await onDisk.get(NAME, new Uint8Array(100))).toBe(BYTES.length);
    expect(await Array.fromAsync(onDisk.list(""))).toMatchObject([
      { name: NAME, size: BYTES.length },
    ]);
  });
});

onSmallDisk("a full disk", () => {
  test("is reported, and keeps its blobs", async () => {
    await using disk = await smallDisk(1);
    const onDisk = filesystem(disk.folder);
    await onDisk.put(NAME, BYTES);
    for (const name of [OTHER, NAME]) {
      const writing = onDisk.put(name, new Uint8Array(5 * 2 ** 20));
      const error = await rejects(writing, "unavailable", "the disk is full");
      expect(error.transient).toBe(false);
    }
    expect(await Array.fromAsync(onDisk.list(""))).toMatchObject([
      { name: NAME, size: BYTES.length },
    ]);
    expect(await readdir(join(disk.folder, "cd"))).toEqual([]);
  });

  test("stores blobs again once there is space", async () => {
    await using disk = await smallDisk(1);
    const onDisk = filesystem(disk.folder);
    const half = new Uint8Array(700 * 2 ** 10);
    await onDisk.put(NAME, half);
    await rejects(onDisk.put(OTHER, half), "unavailable", "the disk is full");
    await onDisk.delete(NAME);
    await onDisk.put(OTHER, half);
    expect(await onDisk.head(OTHER)).toMatchObject({ size: half.length });
  });
});

describe("a writer that is killed", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`leaves only whole blobs, and all blobs it had stored (seed ${seed})`, async () => {
      const stored = await storeUntilKilled(seed);
      expect(stored.length).toBeGreaterThan(0);
      const found = await verifiedNames();
      expect(found).toEqual(expect.arrayContaining(stored));

      // Its remains do not disturb others.
      const before = found.length;
      await storeUntilKilled(seed);
      expect((await verifiedNames()).length).toBeGreaterThanOrEqual(before);
    }, 30_000);
  }
});

describe("systemError", () => {
  const cases: readonly (readonly [string, ErrorCode, boolean, string])[] = [
    ["EACCES", "permission", false, "check the owner and mode"],
    ["EPERM", "permission", false, "check the owner and mode"],
    ["EROFS", "permission", false, "mounted read-only"],
    ["ENOSPC", "unavailable", false, "the disk is full"],
    ["EDQUOT", "unavailable", false, "quota"],
    ["EMFILE", "unavailable", true, "too many files are open"],
    ["ENFILE", "unavailable", true, "too many files are open"],
    ["EAGAIN", "unavailable", true, "try again"],
    ["EBUSY", "unavailable", true, "try again"],
    ["ESTALE", "unavailable", true, "try again"],
    ["EIO", "unavailable", false, "check the disk"],
    ["ENOENT", "unavailable", true, "was deleted"],
    ["ENOTDIR", "unavailable", false, "a parent of this path is a file"],
    ["EUNHEARD", "unavailable", false, "as the system said"],
  ];
  for (const [system, code, transient, part] of cases) {
    test(`${system} becomes ${code}${transient ? ", transient" : ""}`, () => {
      const cause = Object.assign(new Error("as the system said"), { code: system });
      const error = systemError(cause, "store the blob /store/ab/abcd");
      expect(error).toMatchObject({ code, transient, cause });
      expect(error.message).toStartWith("cannot store the blob /store/ab/abcd: ");
      expect(error.message).toContain(part);
    });
  }

  test("passes errors of the library through", () => {
    const error = new StorageError("limit", "too long");
    expect(systemError(error, "read")).toBe(error);
  });

  test("converts anything else to unavailable", () => {
    expect(systemError("odd", "read")).toMatchObject({ code: "unavailable", cause: "odd" });
  });
});

async function list(prefix: string): Promise<string[]> {
  return (await Array.fromAsync(backend.list(prefix), ({ name }) => name)).toSorted();
}

const NOBODY = 65_534;

/** Runs as an unprivileged user, because file modes do not restrict root. */
async function unprivileged(body: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return body();
  const group = process.getegid!();
  process.setegid!(NOBODY);
  process.seteuid!(NOBODY);
  try {
    await body();
  } finally {
    process.seteuid!(0);
    process.setegid!(group);
  }
}

/** Starts a process that stores blobs and kills it at a time that depends on the seed. */
async function storeUntilKilled(seed: number): Promise<string[]> {
  const writer = Bun.spawn(
    [process.execPath, join(import.meta.dir, "crash-writer.ts"), directory, `${seed}`],
    { stdout: "pipe", stderr: "inherit" },
  );
  let printed = "";
  let killing: ReturnType<typeof setTimeout> | undefined;
  const decoder = new TextDecoder();
  for await (const part of writer.stdout) {
    printed += decoder.decode(part, { stream: true });
    killing ??= setTimeout(() => writer.kill("SIGKILL"), 20 + ((seed * 37) % 100));
  }
  await writer.exited;
  expect(writer.signalCode).toBe("SIGKILL");
  return printed.split("\n").filter((line) => line.length === 64);
}

/** The listed names; checks that each is the SHA-256 of its file. */
async function verifiedNames(): Promise<string[]> {
  const names: string[] = [];
  const buffer = new Uint8Array(2 ** 20);
  for await (const { name, size } of backend.list("")) {
    const length = await backend.get(name, buffer);
    expect(length).toBe(size);
    const hash = createHash("sha256").update(buffer.subarray(0, length)).digest("hex");
    expect(hash).toBe(name);
    names.push(name);
  }
  return names;
}

test("a delete of what another one has removed syncs the folder, too", async () => {
  await backend.put(NAME, BYTES);
  const handle = await open(directory);
  const syncs = spyOn(Object.getPrototypeOf(handle) as typeof handle, "sync");
  try {
    await handle.close();
    await backend.delete(NAME);
    expect(syncs).toHaveBeenCalledTimes(1);
    await backend.delete(NAME);
    expect(syncs).toHaveBeenCalledTimes(2);
    // Nor is a folder that does not exist an error.
    await backend.delete(OTHER);
  } finally {
    syncs.mockRestore();
  }
});
