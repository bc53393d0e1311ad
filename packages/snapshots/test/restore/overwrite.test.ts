import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { bytes, storeFolder } from "../support/repository-writer.ts";
import { openStored, printed, snapshotOf, temporaryBase } from "./support.ts";
import { FileError } from "../../src/files/errors.ts";
import type { Host, Stat } from "../../src/files/host.ts";
import type { RestoreEvent, RestoreSummary } from "../../src/restore/options.ts";
import type { OpenSnapshot } from "../../src/read/open-snapshot.ts";
import { join } from "node:path";
import { makeDeep } from "../walk/hostile-folder.ts";
import { openHost } from "../../src/files/open-host.ts";
import { restore, restoreWith } from "../../src/restore/restore.ts";
import { testRepository } from "../support/repositories.ts";

const host = await openHost();
const base = temporaryBase();
const source = join(base, "source");
mkdirSync(join(source, "folder"), { recursive: true });
writeFileSync(join(source, "same"), "content");
writeFileSync(join(source, "time"), "content");
writeFileSync(join(source, "content"), "content");
writeFileSync(join(source, "folder/missing"), "missing");
writeFileSync(join(source, "long"), Buffer.alloc(3 * 2 ** 20 + 5, 9));
symlinkSync("to", join(source, "link"));
linkSync(join(source, "folder/missing"), join(source, "second"));
const { opened, given } = await snapshotOf(host, source);

const target = join(base, "target");
const at = (name: string) => join(target, name);
const inode = (name: string) => lstatSync(at(name), { bigint: true }).ino;
const actions = async (options: object): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  await restore(opened, {
    target,
    ...options,
    onEvent: (event: RestoreEvent) => {
      if (event.kind === "error") throw event.error;
      if (event.kind !== "entry" && event.kind !== "deleted") return;
      const action = event.kind === "deleted" ? "deleted" : event.action;
      found[Buffer.from(event.path).toString()] = action;
    },
  });
  return found;
};
const warned = ({ warningList }: RestoreSummary): string[] =>
  warningList.map(({ path, message }) => `${Buffer.from(path).toString()}: ${message}`);

beforeEach(async () => {
  rmSync(target, { recursive: true, force: true });
  await restore(opened, { target });
  utimesSync(at("time"), 5, 5);
  chmodSync(at("same"), 0o600);
  const { atime, mtime } = statSync(at("content"));
  writeFileSync(at("content"), "c0ntent");
  // Of the same size, but a time that differs.
  utimesSync(at("content"), atime, new Date(mtime.getTime() + 1000));
  rmSync(at("folder/missing"));
});

test("always writes everything anew", async () => {
  const before = inode("same");
  expect(await actions({})).toEqual({
    content: "replaced",
    folder: "unchanged",
    "folder/missing": "created",
    link: "replaced",
    long: "replaced",
    same: "replaced",
    second: "linked",
    time: "replaced",
  });
  expect(inode("same")).not.toBe(before);
  expect(printed(target)).toEqual(printed(source));
});

test("if-changed leaves what is the same, compares content where only the time differs, and sets attributes", async () => {
  const before = [inode("same"), inode("time"), inode("link"), inode("long")];
  given.take();
  expect(await actions({ overwrite: "if-changed" })).toEqual({
    content: "replaced",
    folder: "unchanged",
    "folder/missing": "created",
    link: "unchanged",
    long: "unchanged",
    same: "unchanged",
    second: "linked",
    time: "unchanged",
  });
  expect([inode("same"), inode("time"), inode("link"), inode("long")]).toEqual(before);
  expect(printed(target)).toEqual(printed(source));
  expect(readFileSync(at("content"), "utf8")).toBe("content");
  // And once more nothing is left to do.
  given.take();
  const again = await actions({ overwrite: "if-changed" });
  expect(new Set(Object.values(again))).toEqual(new Set(["unchanged"]));
  expect(given.take().get).toBe(0);
});

test("if-changed reports a file whose attributes cannot be looked at, and restores the others", async () => {
  const closed = inode("same");
  const failing: Host = {
    ...host,
    statOpen(fd) {
      const stat = host.statOpen(fd);
      if (stat.inode === closed) throw new FileError("EIO", "fstat");
      return stat;
    },
  };
  const summary = await restoreWith(failing, opened, { target, overwrite: "if-changed" });
  expect(summary.errorList.map(({ path }) => Buffer.from(path).toString())).toEqual(["same"]);
  expect(readFileSync(at("content"), "utf8")).toBe("content");
});

test("if-changed with verify compares content though the times are the same", async () => {
  const { atime, mtime } = statSync(join(source, "same"));
  writeFileSync(at("same"), "c0ntent");
  // As exact as these calls are: whole seconds differ otherwise.
  utimesSync(at("same"), atime, mtime);
  const folder = host.openRoot(Buffer.from(target));
  const original = host.openRoot(Buffer.from(source));
  host.setTime(folder, Buffer.from("same"), host.stat(original, Buffer.from("same"))!.mtime);
  host.close(folder);
  host.close(original);
  expect((await actions({ overwrite: "if-changed" }))["same"]).toBe("unchanged");
  expect((await actions({ overwrite: "if-changed", verify: true }))["same"]).toBe("replaced");
  expect(readFileSync(at("same"), "utf8")).toBe("content");
});

test("if-changed breaks other names of a file, which need not be in the target", async () => {
  const outside = join(base, "outside");
  rmSync(outside, { force: true });
  linkSync(at("same"), outside);
  chmodSync(outside, 0o640);
  expect((await actions({ overwrite: "if-changed" }))["same"]).toBe("replaced");
  expect(statSync(outside).mode & 0o777).toBe(0o640);
});

test("if-changed does not touch what has a name elsewhere, though the snapshot has the file in a group of hard links", async () => {
  const hostile = await snapshotOf(host, source, (entry) =>
    Buffer.from(entry.name).toString() === "same"
      ? { ...entry, mode: 0o666, extra: { ...entry.extra, links: 77 } }
      : entry,
  );
  const outside = join(base, "private");
  const seen = () => {
    const { mode, mtimeNs, ctimeNs, nlink, ino } = statSync(outside, { bigint: true });
    return { mode, mtimeNs, ctimeNs, nlink, ino };
  };
  // With the mode that the snapshot has not, and with a time that it has not: each would be set.
  for (const change of [() => {}, () => utimesSync(at("same"), 7, 7)]) {
    await restore(opened, { target });
    rmSync(outside, { force: true });
    linkSync(at("same"), outside);
    change();
    const before = seen();
    await restore(hostile.opened, { target, overwrite: "if-changed" });
    // Only its name in the target is gone.
    expect({ ...seen(), ctimeNs: 0n }).toEqual({ ...before, ctimeNs: 0n, nlink: 1n });
    expect(statSync(at("same")).mode & 0o777).toBe(0o666);
    expect(inode("same")).not.toBe(before.ino);
  }
});

test("if-changed does not touch what gets a name elsewhere while it is read", async () => {
  const outside = join(base, "late");
  rmSync(outside, { force: true });
  // Its content has to be read: the time differs.
  utimesSync(at("same"), 7, 7);
  const linking: Host = {
    ...host,
    openFile(folder, name, ...given) {
      if (Buffer.from(name).equals(Buffer.from("same"))) linkSync(at("same"), outside);
      return host.openFile(folder, name, ...given);
    },
  };
  await restoreWith(linking, opened, { target, overwrite: "if-changed" });
  expect(statSync(outside)).toMatchObject({ nlink: 1, mtimeMs: 7000 });
  expect(printed(target)).toEqual(printed(source));
});

describe("attributes are not set on another file that gets the name", () => {
  const outside = join(base, "victim");
  const seen = () => {
    const folder = host.openRoot(Buffer.from(base));
    const keys = [...host.attributes(folder, Buffer.from("victim")).keys()];
    host.close(folder);
    const { mode, mtimeMs } = statSync(outside);
    return { mode: mode & 0o777, mtimeMs, keys };
  };
  const swap = (path: string) => {
    rmSync(path);
    linkSync(outside, path);
  };
  beforeEach(() => {
    rmSync(outside, { force: true });
    writeFileSync(outside, "content", { mode: 0o600 });
    utimesSync(outside, 7, 7);
  });

  test("after a file was compared", async () => {
    let looks = 0;
    const swapping: Host = {
      ...host,
      stat(folder, name) {
        const stat = host.stat(folder, name);
        if (Buffer.from(name).equals(Buffer.from("same")) && (looks += 1) === 2) swap(at("same"));
        return stat;
      },
    };
    const before = seen();
    const summary = await restoreWith(swapping, opened, { target, overwrite: "if-changed" });
    expect(looks).toBe(2);
    expect(seen()).toEqual(before);
    expect(warned(summary)).toEqual([
      "same: its attributes are not set, because another file has replaced it",
    ]);
  });

  test("and are set on a file that its owner may not read", async () => {
    const refusing: Host = {
      ...host,
      openFile(folder, name, ...given) {
        if (!Buffer.from(name).equals(Buffer.from("same"))) {
          return host.openFile(folder, name, ...given);
        }
        throw Object.assign(new Error("refused"), { code: "EACCES" });
      },
    };
    const summary = await restoreWith(refusing, opened, { target, overwrite: "if-changed" });
    expect(warned(summary)).toEqual([]);
    expect(printed(target)).toEqual(printed(source));
  });

  test.skipIf(process.platform !== "linux")("while a file is written", async () => {
    const attributed = join(base, "attributed");
    mkdirSync(attributed, { recursive: true });
    writeFileSync(join(attributed, "file"), "content");
    const folder = host.openRoot(Buffer.from(attributed));
    host.setAttribute(folder, Buffer.from("file"), "user.granted", Buffer.from("yes"));
    host.close(folder);
    const swapping: Host = {
      ...host,
      statOpen(fd) {
        const stat = host.statOpen(fd);
        const names = stat.type === "file" ? readdirSync(target) : [];
        for (const name of names) if (name.startsWith(".idk-restore-")) swap(at(name));
        return stat;
      },
    };
    rmSync(target, { recursive: true });
    mkdirSync(target);
    const before = seen();
    const { opened: granting } = await snapshotOf(host, attributed);
    const summary = await restoreWith(swapping, granting, { target, workers: 0 });
    expect(summary.errors).toBe(1);
    expect(seen()).toEqual(before);
  });
});

test("never leaves what exists, and restores what does not", async () => {
  const before = printed(target, "%P|%i|%T@|%m").filter((line) => !line.startsWith("folder"));
  expect(await actions({ overwrite: "never" })).toEqual({
    content: "kept",
    folder: "unchanged",
    "folder/missing": "created",
    link: "kept",
    long: "kept",
    same: "kept",
    second: "kept",
    time: "kept",
  });
  expect(printed(target, "%P|%i|%T@|%m").filter((line) => !line.startsWith("folder"))).toEqual(
    before,
  );
  expect(readFileSync(at("folder/missing"), "utf8")).toBe("missing");
});

test("a dry run names what would be done, changes nothing and fetches no data", async () => {
  writeFileSync(at("surplus"), "");
  const before = printed(target, "%P|%i|%T@|%m");
  given.take();
  expect(await actions({ dryRun: true, delete: true })).toEqual({
    content: "replaced",
    folder: "unchanged",
    "folder/missing": "created",
    link: "replaced",
    long: "replaced",
    same: "replaced",
    second: "linked",
    surplus: "deleted",
    time: "replaced",
  });
  expect(printed(target, "%P|%i|%T@|%m")).toEqual(before);
  expect(given.take().get).toBe(0);
  const absent = join(base, "absent");
  const summary = await restore(opened, { target: absent, dryRun: true });
  expect(summary).toMatchObject({ files: 7, directories: 1, errors: 0 });
  expect(() => lstatSync(absent)).toThrow();
});

test("a restore waits for a listener that returns a promise", async () => {
  const many = await openStored(await testRepository(), (session) =>
    storeFolder(
      session,
      Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}`, bytes("")])),
    ),
  );
  let [waiting, most, seen] = [0, 0, 0];
  const onEvent = async (event: RestoreEvent): Promise<void> => {
    if (event.kind !== "entry") return;
    seen += 1;
    waiting += 1;
    most = Math.max(most, waiting);
    await Bun.sleep(0);
    waiting -= 1;
  };
  const options = { target: join(base, "not-made"), dryRun: true };
  await restore(many, { ...options, onEvent });
  expect({ seen, most, waiting }).toEqual({ seen: 200, most: 1, waiting: 0 });

  const refused = new Error("the listener is gone");
  const failing = async () => {
    throw refused;
  };
  expect(restore(many, { ...options, onEvent: failing })).rejects.toBe(refused);
  const abort = new AbortController();
  const hanging = (event: RestoreEvent): Promise<void> | undefined => {
    if (event.kind !== "entry") return undefined;
    setTimeout(() => abort.abort(), 1);
    return new Promise(() => {});
  };
  const { signal } = abort;
  const error: unknown = await restore(many, { ...options, onEvent: hanging, signal }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "aborted" });
});

test("a restore does not give a file's name to what another restore is writing", async () => {
  rmSync(target, { recursive: true });
  mkdirSync(target);
  const temporaries = () => readdirSync(target).filter((name) => name.startsWith(".idk-restore-"));
  // As the other does that finds a temporary file, between the last byte and the name.
  const racing: Host = {
    ...host,
    setTimeOpen(fd, time) {
      host.setTimeOpen(fd, time);
      const own = host.statOpen(fd).inode;
      const name = temporaries().find((each) => inode(each) === own);
      if (name === undefined) return;
      rmSync(at(name));
      writeFileSync(at(name), "half");
    },
  };
  const summary = await restoreWith(racing, opened, { target, workers: 0 });
  const failed = ["content", "long", "same", "time"];
  const errors = summary.errorList.map(({ path }) => Buffer.from(path).toString());
  expect(errors.filter((path) => !path.includes("/")).toSorted()).toEqual(failed);
  for (const { error } of summary.errorList) expect(error.message).toContain("another restore");
  expect(failed.filter((name) => existsSync(at(name)))).toEqual([]);
  expect(temporaries().map((name) => readFileSync(at(name), "utf8"))).toEqual(
    failed.map(() => "half"),
  );
  await restore(opened, { target });
  expect(readFileSync(at("same"), "utf8")).toBe("content");
  expect(temporaries()).toEqual([]);
});

describe("a restore leaves to another what that is writing", () => {
  const temporaries = () => readdirSync(target).filter((name) => name.startsWith(".idk-restore-"));
  const replaceAll = () => {
    for (const name of temporaries()) {
      rmSync(at(name));
      writeFileSync(at(name), "half");
    }
  };
  /** @returns the names at the top that fail because of another restore */
  const raced = async (change: Partial<Host>, snapshot = opened): Promise<string[]> => {
    const summary = await restoreWith({ ...host, ...change }, snapshot, { target, workers: 0 });
    const named = temporaries().map((name) => readFileSync(at(name), "utf8"));
    expect(named).toEqual(summary.errorList.map(() => "half"));
    return summary.errorList.map(({ path, error }) => {
      expect(error.message).toContain("another restore");
      expect(existsSync(at(Buffer.from(path).toString()))).toBe(false);
      return Buffer.from(path).toString();
    });
  };

  test("while a folder is removed that has the name", async () => {
    rmSync(at("same"));
    mkdirSync(at("same"));
    const removeFolder: Host["removeFolder"] = (folder, name) => {
      host.removeFolder(folder, name);
      replaceAll();
    };
    expect(await raced({ removeFolder })).toEqual(["same"]);
  });

  test("in place of a symbolic link", async () => {
    rmSync(at("link"));
    const makeLink: Host["makeLink"] = (...given) => {
      host.makeLink(...given);
      replaceAll();
    };
    expect(await raced({ makeLink })).toEqual(["link"]);
    rmSync(at(temporaries()[0]!));
    const setTime: Host["setTime"] = (folder, name, time) => {
      host.setTime(folder, name, time);
      if (host.stat(folder, name)?.type === "link") replaceAll();
    };
    expect(await raced({ setTime })).toEqual(["link"]);
  });

  test("in place of a further name of a file", async () => {
    rmSync(at("second"));
    const linkFile: Host["linkFile"] = (...given) => {
      host.linkFile(...given);
      replaceAll();
    };
    expect(await raced({ linkFile })).toEqual(["second"]);
  });

  describe("after a file was shut, because too many are open,", () => {
    /** A snapshot of more long files than stay open, each with a piece in either of two packs. */
    const manyLong = async () => {
      const own = await testRepository();
      const texts = ["first;", "second;"];
      const rows: Awaited<ReturnType<Parameters<typeof storeFolder>[0]["dataPack"]>>[] = [];
      const snapshot = await openStored(own, async (session) => {
        for (const text of texts) rows.push(await session.dataPack(bytes(text)));
        let next = 0;
        const shared = { ...session, dataPack: async () => rows[next++ % 2]! };
        const names = Array.from({ length: 200 }, (_, i) => `f${i}`);
        const parts = [bytes(texts[0]!), 4096, bytes(texts[1]!)];
        return storeFolder(shared, Object.fromEntries(names.map((name) => [name, parts])));
      });
      return { own, snapshot, second: rows[1]!.address };
    };
    /** Replaces files right before they are opened again, by others that get their inodes. */
    const replacing = (): Partial<Host> => {
      const reused = new Map<bigint, bigint>();
      const disguised = <T extends Stat | undefined>(stat: T): T =>
        stat && { ...stat, inode: reused.get(stat.inode) ?? stat.inode };
      return {
        openFile(folder, name, flags, mode) {
          if (flags === constants.O_RDWR) {
            const path = Buffer.from(name).toString();
            const old = inode(path);
            rmSync(at(path));
            writeFileSync(at(path), "half");
            reused.set(inode(path), old);
          }
          return host.openFile(folder, name, flags, mode);
        },
        stat: (folder, name) => disguised(host.stat(folder, name)),
        statOpen: (fd) => disguised(host.statOpen(fd)),
      };
    };
    beforeEach(() => {
      rmSync(target, { recursive: true });
      mkdirSync(target);
    });

    test("though the other file has its inode", async () => {
      const { snapshot } = await manyLong();
      expect((await raced(replacing(), snapshot)).length).toBe(8);
    });

    test("and is to be removed", async () => {
      const { own, snapshot, second } = await manyLong();
      await own.backend.delete(second);
      const summary = await restoreWith({ ...host, ...replacing() }, snapshot, { target });
      expect(summary).toMatchObject({ files: 0, errors: 200 });
      const left = temporaries().map((name) => readFileSync(at(name), "utf8"));
      expect(left).toEqual(Array.from({ length: 8 }, () => "half"));
    });
  });

  test("after another error, too", async () => {
    rmSync(target, { recursive: true });
    mkdirSync(target);
    const rename = (): void => {
      replaceAll();
      throw Object.assign(new Error("not now"), { code: "EIO" });
    };
    await restoreWith({ ...host, rename }, opened, { target, workers: 0 });
    const left = temporaries().map((name) => readFileSync(at(name), "utf8"));
    expect(new Set(left)).toEqual(new Set(["half"]));
  });
});

describe("delete", () => {
  test("removes what the snapshot lacks, and nothing behind a link", async () => {
    const outside = join(base, "outside-folder");
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, "precious"), "");
    symlinkSync(outside, at("surplus-link"));
    symlinkSync(outside, at("folder/surplus-link"));
    mkdirSync(at("aaa/inner"), { recursive: true });
    writeFileSync(at("aaa/inner/file"), "");
    symlinkSync(outside, at("aaa/inner/link"));
    writeFileSync(at("zzz"), "");
    expect(await actions({ delete: true })).toMatchObject({
      "surplus-link": "deleted",
      "folder/surplus-link": "deleted",
      aaa: "deleted",
      zzz: "deleted",
    });
    expect(printed(target)).toEqual(printed(source));
    expect(lstatSync(join(outside, "precious")).isFile()).toBe(true);
  });

  test("leaves what include and exclude leave out", async () => {
    writeFileSync(at("surplus"), "");
    writeFileSync(at("surplus.keep"), "");
    writeFileSync(at("folder/surplus"), "");
    expect(await actions({ delete: true, exclude: ["*.keep", "folder"] })).toMatchObject({
      surplus: "deleted",
    });
    expect(lstatSync(at("surplus.keep")).isFile()).toBe(true);
    expect(lstatSync(at("folder/surplus")).isFile()).toBe(true);
    writeFileSync(at("surplus"), "");
    expect(await actions({ delete: true, include: ["/folder"] })).toMatchObject({
      "folder/surplus": "deleted",
    });
    expect(lstatSync(at("surplus")).isFile()).toBe(true);
  });

  test("leaves what an anchored pattern excludes in a folder below", async () => {
    for (const name of ["zz", "zz.keep"]) writeFileSync(at(`folder/${name}`), "");
    expect(await actions({ delete: true, exclude: ["/folder/zz.keep"] })).toMatchObject({
      "folder/zz": "deleted",
    });
    expect(lstatSync(at("folder/zz.keep")).isFile()).toBe(true);
  });

  test("removes folders of any depth, also without rights", async () => {
    mkdirSync(at("deep"));
    const folder = host.openRoot(Buffer.from(at("deep")));
    makeDeep(host, folder, 1000, Buffer.from("d"));
    host.setMode(folder, Buffer.from("d"), 0);
    host.close(folder);
    expect(await actions({ delete: true })).toMatchObject({ deep: "deleted" });
    expect(printed(target)).toEqual(printed(source));
  });
});

describe("delete leaves", () => {
  test("what is in a folder on another file system, and reports it", async () => {
    mkdirSync(at("folder/surplus/inner"), { recursive: true });
    writeFileSync(at("folder/surplus/file"), "");
    writeFileSync(at("folder/precious"), "");
    writeFileSync(at("surplus"), "");
    const mounted = new Set(
      ["folder", "folder/surplus", "folder/surplus/inner"].map((name) => inode(name)),
    );
    const elsewhere = <T extends Stat | undefined>(stat: T): T =>
      stat !== undefined && mounted.has(stat.inode) ? { ...stat, device: stat.device + 1 } : stat;
    const mounting: Host = {
      ...host,
      stat: (folder, name) => elsewhere(host.stat(folder, name)),
      statOpen: (fd) => elsewhere(host.statOpen(fd)),
    };
    for (const dryRun of [true, false]) {
      const summary = await restoreWith(mounting, opened, { target, delete: true, dryRun });
      expect(summary).toMatchObject({ deleted: 1, errors: 0 });
      expect(warned(summary)).toEqual([
        "folder: it is on another file system than the target, so nothing in it is deleted",
      ]);
    }
    for (const name of ["folder/surplus/inner", "folder/surplus/file", "folder/precious"]) {
      expect(existsSync(at(name)), name).toBe(true);
    }
    expect(existsSync(at("surplus"))).toBe(false);
    // It is restored all the same.
    expect(readFileSync(at("folder/missing"), "utf8")).toBe("missing");
  });

  test("what is in a folder that the snapshot has empty, if its backup could not read everything", async () => {
    const unread = join(base, "unread");
    const emptied = join(base, "emptied");
    mkdirSync(join(unread, "folder"), { recursive: true });
    mkdirSync(join(unread, "other"));
    writeFileSync(join(unread, "other/file"), "");
    const { opened: whole } = await snapshotOf(host, unread);
    const { snapshot } = whole;
    const lacking: OpenSnapshot = {
      ...whole,
      snapshot: { ...snapshot, totals: { ...snapshot.totals, errors: 1 } },
    };
    for (const name of ["folder", "other"]) {
      mkdirSync(join(emptied, name), { recursive: true });
      writeFileSync(join(emptied, name, "surplus"), "");
    }
    const summary = await restore(lacking, { target: emptied, delete: true });
    expect(warned(summary)).toEqual([
      "folder: it is empty in the snapshot, whose backup could not read everything, so nothing in it is deleted",
    ]);
    expect(printed(emptied, "%P")).toEqual(["folder", "folder/surplus", "other", "other/file"]);
    const again = await restore(whole, { target: emptied, delete: true });
    expect(again).toMatchObject({ deleted: 1, warnings: 0 });
    expect(printed(emptied)).toEqual(printed(unread));
  });
});

describe("what is of another type", () => {
  test("is replaced, except for folders that are not empty", async () => {
    rmSync(at("same"));
    mkdirSync(at("same"));
    rmSync(at("link"));
    writeFileSync(at("link"), "");
    rmSync(at("folder"), { recursive: true });
    symlinkSync(base, at("folder"));
    expect(await actions({})).toMatchObject({
      same: "replaced",
      link: "replaced",
      folder: "created",
      "folder/missing": "created",
    });
    expect(printed(target)).toEqual(printed(source));
    expect(readlinkSync(at("link"))).toBe("to");

    rmSync(at("same"));
    mkdirSync(at("same/inner"), { recursive: true });
    const summary = await restore(opened, { target });
    expect(summary.errorList.map(({ error }) => error.message).join("\n")).toContain("not empty");
    expect(lstatSync(at("same/inner")).isDirectory()).toBe(true);
    expect(printed(target, "%P").filter((path) => path.includes(".idk"))).toEqual([]);
    await restore(opened, { target, delete: true });
    expect(printed(target)).toEqual(printed(source));
  });

  test("is left by never, with what would be below", async () => {
    rmSync(at("folder"), { recursive: true });
    writeFileSync(at("folder"), "");
    const summary = await restore(opened, { target, overwrite: "never" });
    expect(summary.errorList.map(({ path }) => Buffer.from(path).toString())).toEqual(["folder"]);
    expect(lstatSync(at("folder")).isFile()).toBe(true);
  });
});
