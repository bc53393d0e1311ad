import { describe, expect, test } from "bun:test";
import { differences, openStored, printed, snapshotOf, temporaryBase } from "./support.ts";
import { makeDeep, makeHostile } from "../walk/hostile-folder.ts";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { bytes, storeFolder } from "../support/repository-writer.ts";
import type { OpenSnapshot } from "../../src/read/open-snapshot.ts";
import type { RestoreEvent, RestoreOptions } from "../../src/restore/options.ts";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { portableHost } from "../../src/files/portable.ts";
import { restore, restoreWith } from "../../src/restore/restore.ts";
import { skipIfMissing } from "../../../../tests/servers/require-server.ts";
import { testRepository } from "../support/repositories.ts";

const host = await openHost();
const base = temporaryBase();
const isLinux = process.platform === "linux";
const isRoot = process.geteuid?.() === 0;

describe.skipIf(!isLinux)("a hostile folder", () => {
  const source = join(base, "hostile");
  mkdirSync(source);
  const folder = host.openRoot(bytes(source));
  makeHostile(host, folder);
  host.close(folder);
  const without = (lines: readonly string[], pattern: RegExp) =>
    lines.filter((line) => !pattern.test(line));

  test("is restored as it was, with set-id bits and devices if asked for", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "hostile-all");
    const options = { target, setId: true, devices: true, verify: true };
    const summary = await restore(opened, options);
    expect(summary.errorList).toEqual([]);
    expect(summary.warningList).toEqual([]);
    expect(printed(target)).toEqual(printed(source));
    for (const part of ["names", "links", "order"]) {
      expect(differences(`${source}/${part}`, `${target}/${part}`)).toBe("");
    }
    expect(differences(`${source}/special/holes`, `${target}/special/holes`)).toBe("");
    // Holes are holes again.
    expect(statSync(join(target, "special/holes")).blocks * 512).toBeLessThan(2 ** 21);
  });

  test("has neither set-id bits nor devices again unless asked for", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "hostile-plain");
    const summary = await restore(opened, { target });
    expect(summary.errorList).toEqual([]);
    expect(summary.skipped).toBe(isRoot ? 2 : 0);
    expect(summary.warningList.map(({ path }) => Buffer.from(path).toString())).toEqual([
      "modes/2755",
      "modes/4755",
      "modes/6755",
    ]);
    const device = /^special\/(char|block)\|/u;
    const setId = /^modes\/[246]755\|/u;
    const other = (path: string) => without(without(printed(path), device), setId);
    expect(other(target)).toEqual(other(source));
    for (const mode of ["2755", "4755", "6755"]) {
      expect(statSync(join(target, "modes", mode)).mode & 0o7777).toBe(0o755);
    }
  });

  test("is restored without native calls, except for what the host says it cannot do", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "hostile-portable");
    const events: string[] = [];
    const summary = await restoreWith(portableHost(), opened, {
      target,
      setId: true,
      onEvent: (event) => {
        if (event.kind === "start") events.push(...event.lost);
      },
    });
    expect(events).toContain("fifos, sockets and devices are not restored");
    expect(summary.errorList.map(({ path }) => Buffer.from(path).toString())).toEqual([
      "special/fifo",
      "special/socket",
    ]);
    // Times to the millisecond.
    const format = "%P|%y|%m|%n|%l";
    const other = (path: string) => without(printed(path, format), /^special\/./u);
    expect(other(target)).toEqual(other(source));
  });

  const rsync = Bun.which("rsync");
  skipIfMissing(isLinux && rsync === null ? ["rsync"] : [])("as rsync compares it", () => {
    test("is restored so that rsync would change nothing", async () => {
      const links = host.openRoot(bytes(join(source, "links")));
      host.setAttribute(links, bytes("one"), "user.of-file", bytes("a"));
      host.close(links);
      const { opened } = await snapshotOf(host, source);
      const target = join(base, "hostile-rsync");
      await restore(opened, { target, setId: true, devices: true });
      // All that is in it, because a snapshot has no entry for the folder itself.
      const entries = readdirSync(source);
      expect(readdirSync(target).toSorted()).toEqual(entries.toSorted());
      const sources = entries.map((name) => join(source, name));
      const flags = ["-aniHAX", "--specials", "--delete"];
      const output = execFileSync(rsync!, [...flags, ...sources, `${target}/`]);
      expect(output.toString("latin1")).toBe("");
    });
  });
});

test.skipIf(!isLinux)(
  "folders 2,000 deep are restored, with their times",
  async () => {
    const source = join(base, "deep");
    mkdirSync(source);
    const folder = host.openRoot(bytes(source));
    makeDeep(host, folder, 2000, bytes("d"));
    host.close(folder);
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "deep-restored");
    const summary = await restore(opened, { target });
    expect(summary).toMatchObject({ errors: 0, warnings: 0, directories: 2000, files: 1 });
    expect(printed(target)).toEqual(printed(source));
  },
  60_000,
);

test.skipIf(!isLinux)(
  "extended attributes and modes of folders are restored, also without rights",
  async () => {
    const source = join(base, "attributes");
    mkdirSync(join(source, "folder"), { recursive: true });
    writeFileSync(join(source, "folder/file"), "content");
    writeFileSync(join(source, "two"), Buffer.alloc(2 ** 20 + 1, 7));
    const folder = host.openRoot(bytes(source));
    host.setAttribute(folder, bytes("folder"), "user.of-folder", bytes("a"));
    host.setAttribute(folder, bytes("two"), "user.empty", new Uint8Array(0));
    if (isRoot) host.setAttribute(folder, bytes("two"), "trusted.not-asked", bytes("b"));
    host.close(folder);
    chmodSync(join(source, "folder"), 0o1511);
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "attributes-restored");
    const summary = await restore(opened, { target });
    expect(summary.errors).toBe(0);
    expect(summary.warnings).toBe(isRoot ? 1 : 0);
    expect(printed(target)).toEqual(printed(source));
    const restored = host.openRoot(bytes(target));
    const attributes = (name: string) => [...host.attributes(restored, bytes(name))];
    expect(attributes("folder")).toEqual([["user.of-folder", new Uint8Array(bytes("a"))]]);
    expect(attributes("two")).toEqual([["user.empty", new Uint8Array(0)]]);
    host.close(restored);
  },
);

describe.skipIf(!isRoot)("as root", () => {
  test("owners and set-id bits are set by number if asked for, and not at all otherwise", async () => {
    const given = await testRepository();
    const common = {
      mtime: { seconds: 1, nanoseconds: 0 },
      extra: { user: "root", group: "root" },
    };
    const special = { type: "fifo", uid: 1234, gid: 5678, mode: 0o4755, ...common } as const;
    const opened = await openStored(given, (session) =>
      storeFolder(session, { f: special, l: { ...special, type: "link", target: bytes("x") } }),
    );
    const stat = (target: string, name: string) => {
      const folder = host.openRoot(bytes(target));
      const { uid, gid, mode } = host.stat(folder, bytes(name))!;
      host.close(folder);
      return [uid, gid, mode];
    };
    const plain = join(base, "owner-none");
    await restore(opened, { target: plain });
    expect(stat(plain, "f")).toEqual([0, 0, 0o755]);
    const numbers = join(base, "owner-numbers");
    await restore(opened, { target: numbers, numericOwner: true });
    expect(stat(numbers, "f")).toEqual([1234, 5678, 0o4755]);
    expect(stat(numbers, "l").slice(0, 2)).toEqual([1234, 5678]);
    // By name it is the root of this host.
    const names = join(base, "owner-names");
    await restore(opened, { target: names, owner: true, setId: true });
    expect(stat(names, "f")).toEqual([0, 0, 0o4755]);
    // A name that no system has is no name.
    const long = await openStored(await testRepository(), (session) =>
      storeFolder(session, { f: { ...special, extra: { user: "x".repeat(10_000), group: "" } } }),
    );
    const numbered = join(base, "owner-long");
    await restore(long, { target: numbered, owner: true });
    expect(stat(numbered, "f").slice(0, 2)).toEqual([1234, 5678]);
    // The bits of another owner's file would be ours.
    const bits = join(base, "owner-bits");
    const summary = await restore(opened, { target: bits, setId: true });
    expect(stat(bits, "f")).toEqual([0, 0, 0o755]);
    expect(summary.warningList[0]!.message).toContain("another than in the snapshot");
  });
});

describe("a part of a snapshot", () => {
  const source = join(base, "parts");
  mkdirSync(join(source, "a/b"), { recursive: true });
  writeFileSync(join(source, "a/b/file"), "content");
  writeFileSync(join(source, "a/other"), "other");
  symlinkSync("b", join(source, "a/link"));
  chmodSync(join(source, "a"), 0o750);

  test("a file goes into the target under its own name", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "one-file");
    const summary = await restore(opened, { target, path: "/a/b/file" });
    expect(summary).toMatchObject({ files: 1, directories: 0, bytes: 7 });
    expect(readdirSync(target)).toEqual(["file"]);
    expect(readFileSync(join(target, "file"), "utf8")).toBe("content");
  });

  test("the entries of a folder go into the target, which is as the folder if it is new", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "one-folder");
    await restore(opened, { target, path: "a" });
    expect(printed(target)).toEqual(printed(join(source, "a")));
    expect(statSync(target).mode & 0o7777).toBe(0o750);
    const present = join(base, "present-folder");
    mkdirSync(present);
    chmodSync(present, 0o711);
    await restore(opened, { target: present, path: "a" });
    expect(statSync(present).mode & 0o7777).toBe(0o711);
  });

  test("includes and excludes are of paths below the target", async () => {
    const { opened } = await snapshotOf(host, source);
    const names = async (options: object) => {
      const target = join(base, `chosen-${Math.random()}`);
      await restore(opened, { target, ...options });
      return printed(target, "%P");
    };
    expect(await names({ include: ["/a/b"] })).toEqual(["a", "a/b", "a/b/file"]);
    expect(await names({ include: ["/b"], path: "a" })).toEqual(["b", "b/file"]);
    expect(await names({ include: ["file"] })).toEqual(["a", "a/b", "a/b/file"]);
    expect(await names({ include: ["nothing"] })).toEqual([]);
    expect(await names({ exclude: ["b", "o*"] })).toEqual(["a", "a/link"]);
    expect(await names({ include: ["a"], exclude: ["file"] })).toEqual([
      "a",
      "a/b",
      "a/link",
      "a/other",
    ]);
    expect(restore(opened, { target: base, include: ["["] })).rejects.toMatchObject({
      code: "usage",
    });
  });

  test("a folder on the way to what is included gets its mode back, also if the restore ends early", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "on-the-way");
    mkdirSync(join(target, "a/b"), { recursive: true });
    const modes = () => ["a", "a/b"].map((name) => statSync(join(target, name)).mode & 0o7777);
    for (const include of [["/a/b/file"], ["/a/b"]]) {
      for (const aborts of [false, true]) {
        const abort = new AbortController();
        chmodSync(join(target, "a"), 0o700);
        chmodSync(join(target, "a/b"), 0o070);
        chmodSync(join(target, "a"), 0o500);
        let seen: number[] = [];
        const onEvent = (event: RestoreEvent) => {
          if (event.kind !== "entry" || Buffer.from(event.path).toString() !== "a/b") return;
          seen = modes();
          if (aborts) abort.abort();
        };
        const { signal } = abort;
        const error: unknown = await restore(opened, { target, include, signal, onEvent }).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toEqual(aborts ? expect.objectContaining({ code: "aborted" }) : undefined);
        expect(seen).toEqual([0o700, 0o770]);
        const isRestored = !aborts && include[0] === "/a/b";
        const own = statSync(join(source, "a/b")).mode & 0o7777;
        expect(modes()).toEqual([0o500, isRestored ? own : 0o070]);
      }
    }
    chmodSync(join(target, "a"), 0o700);
  });

  describe("after an interruption, the next restore", () => {
    /** Ends a restore when it has made an entry. */
    const interrupt = async (opened: OpenSnapshot, options: RestoreOptions, last: string) => {
      const abort = new AbortController();
      const onEvent = (event: RestoreEvent) => {
        if (event.kind === "entry" && Buffer.from(event.path).toString() === last) abort.abort();
      };
      const { signal } = abort;
      const error: unknown = await restore(opened, { ...options, onEvent, signal }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code: "aborted" });
    };
    const rights = (path: string) => statSync(path).mode & 0o777;
    const all = (path: string) => [statSync(path).mode & 0o7777, statSync(path).mtimeMs];

    test("sets the attributes of the target, which no other folder loses", async () => {
      const { opened } = await snapshotOf(host, source);
      const target = join(base, "interrupted");
      await interrupt(opened, { target, path: "a" }, "b");
      expect(rights(target)).toBe(0o700);
      await interrupt(opened, { target, path: "a", overwrite: "if-changed" }, "b");
      await restore(opened, { target, path: "a", dryRun: true });
      expect(rights(target)).toBe(0o700);
      await restore(opened, { target, path: "a", overwrite: "if-changed" });
      expect(all(target)).toEqual(all(join(source, "a")));
      // As someone may have made it before the first restore.
      chmodSync(target, 0o700);
      await restore(opened, { target, path: "a" });
      expect(all(target)[0]).toBe(0o700);
    });

    test("sets those of folders on the way to what is included", async () => {
      const { opened } = await snapshotOf(host, source);
      const target = join(base, "interrupted-way");
      mkdirSync(target);
      // Folders in it inherit the bit.
      chmodSync(target, 0o2755);
      const options = { target, include: ["/a/b/file"] };
      await interrupt(opened, options, "a/b");
      expect(rights(join(target, "a"))).toBe(0o700);
      await restore(opened, options);
      for (const name of ["a", "a/b"]) {
        expect(all(join(target, name))).toEqual(all(join(source, name)));
      }
    });

    test("leaves a target for which it has no attributes to its owner", async () => {
      const { opened } = await snapshotOf(host, source);
      for (const path of [undefined, "a/other"]) {
        const target = join(base, `interrupted-${path === undefined}`);
        await interrupt(opened, { target, path: "a" }, "b");
        await restore(opened, { target, path });
        expect(all(target)[0]).toBe(0o1700);
      }
    });
  });

  test("what has no part of an included path is not read", async () => {
    const given = await testRepository();
    const opened = await openStored(given, (session) =>
      storeFolder(
        session,
        { a: { x: bytes("x") }, b: { y: bytes("y") }, c: { z: bytes("z") } },
        { packEach: true },
      ),
    );
    const target = join(base, "pruned");
    await restore(opened, { target, include: ["/b/y"] });
    expect(printed(target, "%P")).toEqual(["b", "b/y"]);
    // The root, one directory and one data pack.
    expect(given.take().get).toBe(3);
  });

  test("a path that is not there is not found, and no target is made", async () => {
    const { opened } = await snapshotOf(host, source);
    const target = join(base, "not-made");
    expect(restore(opened, { target, path: "a/c" })).rejects.toMatchObject({ code: "not-found" });
    expect(existsSync(target)).toBe(false);
  });
});

test.skipIf(!isLinux)(
  "the target may have any name, and is made with the folders above",
  async () => {
    const given = await testRepository();
    const opened = await openStored(given, (session) => storeFolder(session, { f: bytes("x") }));
    const target = Buffer.concat([Buffer.from(`${base}/above/`), Buffer.of(0xff, 0x0a)]);
    await restore(opened, { target });
    expect(printed(join(base, "above"), "%P")).toEqual(["\xff\n", "\xff\n/f"]);
    const file = join(base, "file-as-target");
    writeFileSync(file, "");
    expect(restore(opened, { target: file })).rejects.toMatchObject({ code: "usage" });
    expect(restore(opened, { target: "" })).rejects.toMatchObject({ code: "usage" });
  },
);
