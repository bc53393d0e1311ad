import { type Given, contents, expected, given } from "./support.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { BackupSummary } from "../../src/write/options.ts";
import type { Cache } from "../../src/cache/cache.ts";
import { FileError } from "../../src/files/errors.ts";
import type { Folder, Host, Stat } from "../../src/files/host.ts";
import { all } from "../support/repositories.ts";
import { openCache } from "../../src/cache/cache.ts";
import { openHost } from "../../src/files/open-host.ts";
import { restore } from "../../src/restore/restore.ts";
import { runBackup } from "../../src/write/run-backup.ts";

const host = await openHost();
let at: Given;
beforeEach(async () => {
  at = await given();
});
afterEach(() => at.end());

/** What happens to files while the backup reads them, by name. */
interface Happening {
  /** Before a file is opened, for the nth time from 1. */
  readonly opening?: Readonly<Record<string, (attempt: number) => void>>;
  /** After it was opened and before it is read. */
  readonly reading?: Readonly<Record<string, (attempt: number) => void>>;
  /** Before a folder is listed. */
  readonly listing?: Readonly<Record<string, () => void>>;
}

function changingHost({ opening = {}, reading = {}, listing = {} }: Happening): Host {
  const attempts = new Map<string, number>();
  const opened = new Map<number, string>();
  const text = (name: Uint8Array): string => Buffer.from(name).toString();
  return Object.assign(Object.create(host) as Host, {
    openFile(...given: Parameters<Host["openFile"]>) {
      const name = text(given[1]);
      const attempt = (attempts.get(name) ?? 0) + 1;
      attempts.set(name, attempt);
      opening[name]?.(attempt);
      const fd = host.openFile(...given);
      opened.set(fd, name);
      return fd;
    },
    statOpen(fd: number) {
      const stat = host.statOpen(fd);
      const name = opened.get(fd);
      opened.delete(fd);
      if (name !== undefined) reading[name]?.(attempts.get(name)!);
      return stat;
    },
    openFolder(...given: Parameters<Host["openFolder"]>) {
      listing[text(given[1])]?.();
      return host.openFolder(...given);
    },
  });
}

/** Backs up over a host, by a cache that may be wrapped. */
async function run(
  over: Host,
  wrap: (cache: Cache) => Cache = (cache) => cache,
): Promise<BackupSummary> {
  mkdirSync(dirname(at.cache), { recursive: true });
  const cache = await openCache(at.cache);
  try {
    const { recipients, clock } = at;
    const paths = [Buffer.from(at.source)];
    const now = (): number => clock.now;
    const options = { name: "home", paths, recipients, cache: at.cache, workers: 0, now };
    return await runBackup(await at.open(), options, wrap(cache), over);
  } finally {
    cache.close();
  }
}

/** Restores the newest snapshot; by name, what it has. */
async function restored(): Promise<{ target: string; files: Map<string, string> }> {
  const target = join(dirname(at.source), "restored");
  rmSync(target, { recursive: true, force: true });
  const summary = await restore(await at.read(), { target, path: at.source, workers: 0 });
  expect(summary.errorList).toEqual([]);
  const files = new Map<string, string>();
  for (const path of readdirSync(target, { recursive: true, encoding: "utf8" })) {
    const isFile = statSync(join(target, path)).isFile();
    files.set(path, isFile ? readFileSync(join(target, path), "latin1") : "");
  }
  return { target, files };
}

const said = (
  list: readonly { path: Uint8Array | undefined; error?: Error; message?: string }[],
): string[] =>
  list.map(({ path, error, message }) => {
    const name = Buffer.from(path!)
      .toString()
      .slice(at.source.length + 1);
    return `${name}: ${error?.message ?? message}`;
  });

test("a folder that changes while it is read is restored name for name", async () => {
  const path = (name: string): string => join(at.source, name);
  const rewrite = (name: string, attempt: number): void =>
    writeFileSync(path(name), `version ${attempt}`);
  for (const name of [
    "a-still",
    "always",
    "grows",
    "late/inner",
    "locked/inner",
    "once",
    "z-still",
  ])
    at.write(name, "version 0");
  at.write("shrinks", "x".repeat(100));
  at.write("large", Buffer.alloc(2 ** 21 + 10, "large "));
  for (const name of ["becomes-fifo", "becomes-folder", "loses-permission", "replaced", "vanishes"])
    at.write(name, name);
  at.write("gone-folder/a", "a");
  at.write("gone-folder/b", "b");
  const large = readFileSync(path("large"), "latin1");
  const summary = await run(
    changingHost({
      reading: {
        once: (attempt) => attempt === 1 && rewrite("once", 1),
        always: (attempt) => rewrite("always", attempt),
        grows: (attempt) => appendFileSync(path("grows"), `+${attempt}`),
        shrinks: (attempt) => truncateSync(path("shrinks"), 100 - 10 * attempt),
        large: (attempt) => attempt === 1 && truncateSync(path("large"), 2 ** 20 + 5),
        vanishes: () => unlinkSync(path("vanishes")),
        "loses-permission": () => rewrite("loses-permission", 1),
        replaced(attempt) {
          if (attempt > 1) return;
          writeFileSync(path("other"), "the other");
          renameSync(path("other"), path("replaced"));
        },
      },
      opening: {
        "loses-permission"(attempt) {
          if (attempt > 1) throw new FileError("EACCES", "openat");
        },
        "becomes-fifo"() {
          unlinkSync(path("becomes-fifo"));
          const folder = host.openRoot(Buffer.from(at.source));
          host.makeSpecial(folder, Buffer.from("becomes-fifo"), "fifo", 0o600, 0, 0);
          host.close(folder);
        },
        "becomes-folder"() {
          unlinkSync(path("becomes-folder"));
          mkdirSync(path("becomes-folder"));
        },
        a: () => rmSync(path("gone-folder"), { recursive: true }),
      },
      listing: {
        locked() {
          throw new FileError("EACCES", "openat");
        },
      },
    }),
  );
  expect(said(summary.errorList).toSorted()).toEqual([
    "becomes-fifo: it is not a file any more",
    expect.stringMatching(/^becomes-folder: /u),
    "locked: openat failed: EACCES",
    "loses-permission: openat failed: EACCES",
  ]);
  const inconsistent = "it changed in each of three attempts to read it";
  expect(said(summary.warnings)).toEqual([
    `always: ${inconsistent}`,
    `grows: ${inconsistent}`,
    `shrinks: ${inconsistent}`,
  ]);
  const { files } = await restored();
  expect(Object.fromEntries(files)).toEqual({
    "a-still": "version 0",
    always: "version 3",
    // What was there when the third attempt began.
    "gone-folder": "",
    grows: "version 0+1+2",
    large: large.slice(0, 2 ** 20 + 5),
    late: "",
    "late/inner": "version 0",
    once: "version 1",
    replaced: "the other",
    shrinks: "x".repeat(70),
    "z-still": "version 0",
  });
  const marked: string[] = [];
  for (const { path: name, entry } of await all((await at.read()).entries("", { recursive: true })))
    if (entry.extra.inconsistent === true) marked.push(Buffer.from(name).toString());
  expect(marked.map((name) => name.slice(at.source.length))).toEqual([
    "always",
    "grows",
    "shrinks",
  ]);

  // Once all is still, everything is as it is.
  at.later();
  expect(await run(host)).toMatchObject({ errors: 0, warningCount: 0 });
  rmSync(path("becomes-fifo"));
  at.later();
  await run(host);
  expect(await contents(await at.read(), at.source)).toEqual(expected(at.source));
});

describe("a file with several names that changes between them", () => {
  const numbers = async (): Promise<unknown[]> => {
    const snapshot = await at.read();
    const found = ["a", "y", "z"].map((name) => snapshot.entry(join(at.source, name).slice(1)));
    return (await Promise.all(found)).map((each) => each?.entry.extra.links);
  };
  const inodes = (target: string): bigint[] =>
    ["a", "y", "z"].map((name) => statSync(join(target, name), { bigint: true }).ino);
  const change = { opening: { m: () => appendFileSync(join(at.source, "a"), " more") } };
  function write(): void {
    at.write("a", "first");
    for (const name of ["y", "z"]) linkSync(join(at.source, "a"), join(at.source, name));
    at.write("m", "between");
  }

  async function checkSplit(summary: BackupSummary): Promise<void> {
    expect(said(summary.warnings)).toEqual([
      "y: it changed after another name of it was read, so it is not stored as a hard link of that",
    ]);
    expect(await numbers()).toEqual([1, 2, 2]);
    const { target, files } = await restored();
    expect(Object.fromEntries(files)).toEqual({
      a: "first",
      m: "between",
      y: "first more",
      z: "first more",
    });
    const [a, y, z] = inodes(target);
    expect([a === y, y === z]).toEqual([false, true]);
    // The next backup puts them together again.
    at.later();
    expect((await run(host)).warningCount).toBe(0);
    expect(await numbers()).toEqual([1, 1, 1]);
    const again = await restored();
    expect(new Set(inodes(again.target)).size).toBe(1);
    expect(await contents(await at.read(), at.source)).toEqual(expected(at.source));
  }

  test("in a first backup", async () => {
    write();
    await checkSplit(await run(changingHost(change)));
  });

  test("and whose first name has not changed since the last backup", async () => {
    write();
    await run(host);
    at.later();
    at.write("m", "again");
    at.write("m", "between");
    await checkSplit(await run(changingHost(change)));
  });
});

test("what the cache fails with does not make files unreadable", async () => {
  at.write("a", "content");
  await run(host);
  at.later();
  at.write("b", "more");
  let calls = 0;
  /** Fails once, when the piece of the new file is looked for. */
  const faulty = (cache: Cache): Cache =>
    Object.assign(Object.create(cache) as Cache, {
      piece(hash: Uint8Array) {
        calls += 1;
        if (calls > 1) return cache.piece(hash);
        throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
      },
    });
  const error = await run(host, faulty).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "SQLITE_IOERR" });
  expect((await contents(await at.read(), at.source)).join()).not.toContain("/b");
});

test.each(["stat", "openFolder", "list"] as const)(
  "a folder whose file system has died is not stored as an empty one, if %s fails",
  async (call) => {
    at.write("file", "1");
    await run(host);
    const { inode } = lstatOf(at.source);
    const died = (): never => {
      throw new FileError("ENOTCONN", call);
    };
    const isSource = (folder: Folder, name: Uint8Array): boolean =>
      host.stat(folder, name)?.inode === inode;
    const dead: Host = {
      ...host,
      ...(call === "stat" && {
        stat: (folder, name) => (isSource(folder, name) ? died() : host.stat(folder, name)),
      }),
      ...(call === "openFolder" && {
        openFolder: (folder, name) =>
          isSource(folder, name) ? died() : host.openFolder(folder, name),
      }),
      ...(call === "list" && {
        list: (folder) => (host.statOpen(folder.fd).inode === inode ? died() : host.list(folder)),
      }),
    };
    const failing = run(dead);
    expect(failing).rejects.toMatchObject({ code: "unavailable" });
    expect(failing).rejects.toThrow("ENOTCONN");
    await failing.catch(() => {});
    expect([...(await restored()).files.keys()]).toEqual(["file"]);
  },
);

function lstatOf(path: string): Stat {
  const folder = host.openRoot(Buffer.from(path));
  try {
    return host.statOpen(folder.fd);
  } finally {
    host.close(folder);
  }
}
