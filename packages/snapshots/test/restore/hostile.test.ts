import { type Backend, StorageError, wrapBackend } from "@idk/storage";
import { NOW, testRepository } from "../support/repositories.ts";
import { bytes, storeFolder, storeSnapshot, testSession } from "../support/repository-writer.ts";
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { openStored, printed, snapshotOf, temporaryBase } from "./support.ts";
import { restore, restoreWith } from "../../src/restore/restore.ts";
import type { Entry } from "../../src/format/tree/entry.ts";
import type { Host } from "../../src/files/host.ts";
import { directoryOf } from "../../src/read/tree.ts";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";

const host = await openHost();
const base = temporaryBase();
let count = 0;
const newTarget = (): string => {
  count += 1;
  return join(base, `target-${count}`);
};
const paths = (list: readonly { readonly path: Uint8Array }[]): string[] =>
  list.map(({ path }) => Buffer.from(path).toString());

const file = (content: string, change: Partial<Entry> = {}): Partial<Entry> => ({
  type: "file",
  size: 0,
  content: [],
  hash: new Uint8Array(Bun.SHA256.hash(content) as Uint8Array),
  ...(change as object),
});

describe("whoever changes the target at the same time leads nothing outside", () => {
  const source = join(base, "swap-source");
  for (const name of ["a", "b", "c"]) {
    mkdirSync(join(source, name, "inner"), { recursive: true });
    writeFileSync(join(source, name, "inner/file"), name);
    writeFileSync(join(source, name, "long"), Buffer.alloc(2 ** 20 + 1, 1));
    symlinkSync("x", join(source, name, "link"));
  }

  /** Calls `swap` before each call of the host that changes something, in turn. */
  const swapping = (swap: () => void): Host =>
    Object.fromEntries(
      Object.entries(host).map(([key, value]) => {
        if (typeof value !== "function" || ["close", "list", "statOpen"].includes(key)) {
          return [key, value];
        }
        return [
          key,
          (...given: unknown[]) => {
            swap();
            return (value as (...given: unknown[]) => unknown)(...given);
          },
        ];
      }),
    ) as unknown as Host;

  test.each([0, 1, 2, 3, 5, 8, 13, 21, 34, 55])(
    "folders replaced by links to a folder outside, from call %i on",
    async (start) => {
      const { opened } = await snapshotOf(host, source);
      const target = newTarget();
      const outside = join(base, `outside-${start}`);
      mkdirSync(join(outside, "inner"), { recursive: true });
      writeFileSync(join(outside, "inner/file"), "precious");
      const before = printed(outside, "%P|%y|%m|%T@|%s|%i");
      let calls = 0;
      const hostile = swapping(() => {
        calls += 1;
        if (calls < start) return;
        for (const name of ["a/inner", "a", "b", "c"]) {
          const path = join(target, name);
          try {
            // Not through a link that was put there before.
            if (!lstatSync(join(target, name[0]!)).isDirectory()) continue;
            if (!lstatSync(path).isDirectory()) continue;
            renameSync(path, join(base, `moved-${start}-${calls}-${name.replace("/", "-")}`));
            symlinkSync(outside, path);
          } catch {
            // It is not there yet.
          }
        }
      });
      await restoreWith(hostile, opened, { target, delete: true });
      expect(printed(outside, "%P|%y|%m|%T@|%s|%i")).toEqual(before);
    },
  );

  test("a folder replaced by another folder is not filled", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = newTarget();
    let isSwapped = false;
    // The folder is open by then; its handle stays that of the moved one.
    const hostile = swapping(() => {
      if (isSwapped || !existsSync(join(target, "a/inner"))) return;
      isSwapped = true;
      renameSync(join(target, "a"), join(target, "moved"));
      mkdirSync(join(target, "a"));
    });
    await restoreWith(hostile, opened, { target });
    expect(readdirSync(join(target, "a"))).toEqual([]);
  });
});

describe("a repository that claims what is not so", () => {
  test("content with another hash is named, and nothing of it has its name", async () => {
    const wrong = new Uint8Array(32).fill(1);
    const source = join(base, "wrong-hash");
    mkdirSync(source);
    writeFileSync(join(source, "short"), "content");
    writeFileSync(join(source, "long"), Buffer.alloc(2 ** 20 + 9, 1));
    writeFileSync(join(source, "empty"), "");
    writeFileSync(join(source, "right"), "content");
    const { opened } = await snapshotOf(host, source, (each) =>
      each.type === "file" && Buffer.from(each.name).toString() !== "right"
        ? { ...each, hash: wrong }
        : each,
    );
    const target = newTarget();
    const summary = await restore(opened, { target });
    expect(paths(summary.errorList).toSorted()).toEqual(["empty", "long", "short"]);
    for (const { error } of summary.errorList) {
      expect((error as StorageError).code).toBe("tree");
      expect(error.message).toContain("hash");
    }
    expect(readdirSync(target)).toEqual(["right"]);
  });

  test("pieces that are not in their pack, or decode to another length", async () => {
    const source = join(base, "wrong-piece");
    mkdirSync(source);
    writeFileSync(join(source, "f"), Buffer.alloc(5000, 1));
    const { opened } = await snapshotOf(host, source);
    const { packs } = opened;
    const cut = { ...opened, packs: { ...packs, data: async () => new Uint8Array(4096) } };
    const summary = await restore(cut, { target: newTarget() });
    expect(summary.errorList[0]!.error).toMatchObject({ code: "tree" });
  });

  test.each([
    ["files", { files: 3, directories: 1, bytes: 6 }],
    ["directories", { files: 2, directories: 2, bytes: 6 }],
    ["bytes", { files: 2, directories: 1, bytes: 7 }],
  ])("fewer %s than announced", async (_what, totals) => {
    const given = await testRepository();
    const opened = await openStored(
      given,
      (session) => storeFolder(session, { d: { f: bytes("one") }, g: bytes("two") }),
      { totals: { ...totals, newBytes: 0, storedBytes: 0, errors: 0 } },
    );
    expect(restore(opened, { target: newTarget() })).rejects.toMatchObject({ code: "tree" });
  });

  test("more files than announced: the restore ends where it is exceeded", async () => {
    const given = await testRepository();
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, file("")]));
    const opened = await openStored(given, (session) => storeFolder(session, { d: many }), {
      totals: { files: 10, directories: 1, bytes: 0, newBytes: 0, storedBytes: 0, errors: 0 },
    });
    const target = newTarget();
    expect(restore(opened, { target })).rejects.toMatchObject({ code: "tree" });
  });

  test("hard links that disagree in type, size or content", async () => {
    const given = await testRepository();
    const extra = { links: 7 };
    const opened = await openStored(given, (session) =>
      storeFolder(session, {
        a: file("", { extra }),
        b: { type: "fifo", extra },
        c: file("", { extra, hash: new Uint8Array(32) }),
        d: { type: "link", target: bytes("x"), extra },
        e: file("", { extra, mode: 0o600 }),
      }),
    );
    const target = newTarget();
    const summary = await restore(opened, { target });
    expect(paths(summary.errorList)).toEqual(["b", "c", "d"]);
    for (const { error } of summary.errorList) expect(error).toMatchObject({ code: "tree" });
    expect(lstatSync(join(target, "e")).ino).toBe(lstatSync(join(target, "a")).ino);
    expect(readdirSync(target).toSorted()).toEqual(["a", "e"]);
  });

  test("the first of a group that cannot be restored does not take the others with it", async () => {
    const source = join(base, "first-lost");
    mkdirSync(source);
    for (const name of ["a", "m", "y", "z"]) writeFileSync(join(source, name), "content");
    const { opened, given } = await snapshotOf(host, source, (entry) =>
      Object.assign(entry, { extra: { links: 3 } }),
    );
    const target = newTarget();
    mkdirSync(join(target, "a/not-empty"), { recursive: true });
    const summary = await restore(opened, { target });
    expect(summary.warningList).toEqual([]);
    // The pack once for the first, and once more for the second.
    expect(given.take().get).toBeLessThanOrEqual(3);
    expect(paths(summary.errorList)).toEqual(["a"]);
    expect(readFileSync(join(target, "m"), "utf8")).toBe("content");
    for (const name of ["y", "z"]) {
      expect(lstatSync(join(target, name)).ino).toBe(lstatSync(join(target, "m")).ino);
    }
  });

  test("where the file system joins no files, each has its own content", async () => {
    const source = join(base, "no-links");
    mkdirSync(source);
    for (const name of ["a", "m", "z"]) writeFileSync(join(source, name), "content");
    const { opened } = await snapshotOf(host, source, (entry) =>
      Object.assign(entry, { extra: { links: 3 } }),
    );
    const target = newTarget();
    const without: Host = {
      ...host,
      linkFile() {
        throw Object.assign(new Error("no links"), { code: "EPERM" });
      },
    };
    const summary = await restoreWith(without, opened, { target });
    expect(summary.errorList).toEqual([]);
    expect(paths(summary.warningList)).toEqual(["m", "z"]);
    expect(printed(target, "%P|%m|%T@|%n")).toEqual(printed(source, "%P|%m|%T@|%n"));
  });

  test("names like those of temporary files are restored beside the files that they are for", async () => {
    const source = join(base, "temporary-names");
    mkdirSync(source);
    writeFileSync(join(source, "file"), "content");
    const first = await snapshotOf(host, source);
    let temporary = "";
    const watching: Host = {
      ...host,
      rename(from, name, to, toName) {
        temporary = Buffer.from(name).toString();
        host.rename(from, name, to, toName);
      },
    };
    await restoreWith(watching, first.opened, { target: newTarget() });
    expect(temporary).toStartWith(".idk-restore-");
    writeFileSync(join(source, temporary), "a leftover that was backed up");
    mkdirSync(join(source, "d"));
    writeFileSync(join(source, "d", temporary), "another");
    writeFileSync(join(source, "d/file"), "content");
    const { opened } = await snapshotOf(host, source);
    const target = newTarget();
    for (let run = 0; run < 2; run += 1) {
      const summary = await restore(opened, { target });
      expect(summary.errorList).toEqual([]);
      expect(printed(target)).toEqual(printed(source));
    }
  });

  test("device numbers that do not fit are refused, not cut", async () => {
    const given = await testRepository();
    const device = { type: "character-device", major: 2 ** 33 + 1, minor: 3 } as const;
    const opened = await openStored(given, (session) => storeFolder(session, { device }));
    const target = newTarget();
    const summary = await restore(opened, { target, devices: true });
    expect(paths(summary.errorList)).toEqual(["device"]);
    expect(readdirSync(target)).toEqual([]);
  });

  test("a hole as long as a number can be ends with the caller's signal, or the file system's limit", async () => {
    const given = await testRepository();
    const opened = await openStored(
      given,
      (session) =>
        storeFolder(session, {
          f: {
            type: "file",
            size: 2 ** 40,
            content: [{ kind: "hole", length: 2 ** 40 }],
            hash: new Uint8Array(32),
          },
        }),
      {
        totals: {
          files: 1,
          directories: 0,
          bytes: 2 ** 40,
          newBytes: 0,
          storedBytes: 0,
          errors: 0,
        },
      },
    );
    const target = newTarget();
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const running = restore(opened, { target, signal: abort.signal });
    const error: unknown = await running.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "aborted" });
    expect(readdirSync(target)).toEqual([]);
  });
});

describe("a store that lost blobs", () => {
  async function without(lost: "data" | "meta") {
    const given = await testRepository();
    const session = testSession(given.backend, given.recipients);
    const gone = new Set<string>();
    let first: string | undefined;
    const recording = {
      ...session,
      dataPack: async (content: Uint8Array) => {
        const row = await session.dataPack(content);
        first ??= row.address;
        return row;
      },
    };
    const folder = { a: { one: bytes("one") }, b: { two: bytes("two") }, c: bytes("three") };
    const tree = await storeFolder(recording, folder, { packEach: true });
    await storeSnapshot(given, given.owner, "home", session, tree, { generation: NOW });
    const backend: Backend = wrapBackend(given.backend, {
      get:
        (get) =>
        async (name, ...rest) => {
          if (gone.has(name)) throw new StorageError("not-found", `there is no ${name}`);
          return get(name, ...rest);
        },
    });
    const repository = await given.open(undefined, backend);
    for await (const found of repository.snapshots("home")) {
      const opened = await openSnapshot(repository, found);
      const a = await opened.entry("a");
      if (a?.entry.type !== "directory") throw new Error("it is a directory");
      const [node] = directoryOf({ ...a, entry: a.entry }).nodes;
      gone.add(lost === "data" ? first! : node!.row.address);
      return opened;
    }
    throw new Error("there is a snapshot");
  }

  test("a data pack: its files are named, all others are restored", async () => {
    const opened = await without("data");
    const target = newTarget();
    const summary = await restore(opened, { target });
    expect(paths(summary.errorList)).toEqual(["a/one"]);
    expect(summary.errorList[0]!.error).toMatchObject({ code: "not-found" });
    expect(printed(target, "%P")).toEqual(["a", "b", "b/two", "c"]);
  });

  test("a metadata pack: its folder is named, nothing in it is deleted, all others are restored", async () => {
    const opened = await without("meta");
    const target = newTarget();
    mkdirSync(join(target, "a"), { recursive: true });
    writeFileSync(join(target, "a/present"), "");
    writeFileSync(join(target, "surplus"), "");
    const summary = await restore(opened, { target, delete: true });
    expect(paths(summary.errorList)).toEqual(["a"]);
    expect(printed(target, "%P")).toEqual(["a", "a/present", "b", "b/two", "c"]);
  });
});

test("a full disk ends the restore, and leaves no temporary files", async () => {
  const source = join(base, "full");
  mkdirSync(source);
  for (let at = 0; at < 10; at += 1) writeFileSync(join(source, `f${at}`), "content");
  const { opened } = await snapshotOf(host, source);
  const target = newTarget();
  let calls = 0;
  const full: Host = {
    ...host,
    setTimeOpen(fd, time) {
      calls += 1;
      if (calls === 5) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      host.setTimeOpen(fd, time);
    },
    openFile(folder, name, flags, mode) {
      if (calls === 5) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      return host.openFile(folder, name, flags, mode);
    },
  };
  expect(restoreWith(full, opened, { target })).rejects.toMatchObject({ code: "unavailable" });
  await Bun.sleep(50);
  expect(readdirSync(target).every((name) => name.startsWith("f"))).toBe(true);
  rmSync(target, { recursive: true });
});
