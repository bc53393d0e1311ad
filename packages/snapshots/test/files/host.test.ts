import type { Folder, Host } from "../../src/files/host.ts";
import { openHost } from "../../src/files/open-host.ts";
import {
  closeSync,
  constants,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { describe, expect, test } from "bun:test";
import { NameList } from "../../src/files/names.ts";
import { codeOf } from "../../src/files/errors.ts";
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { constants as constantsOfSystem, tmpdir } from "node:os";
import { join } from "node:path";
import { linuxHost } from "../../src/files/native/linux.ts";
import { openLibc } from "../../src/files/native/libc.ts";
import { portableHost } from "../../src/files/portable.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const native = await openHost();
const isRoot = process.getuid?.() === 0;

function inFolder(host: Host, run: (folder: Folder, path: string) => void): void {
  const path = mkdtempSync(join(tmpdir(), "idk-host-"));
  const folder = host.openRoot(bytes(path));
  try {
    run(folder, path);
  } finally {
    host.close(folder);
    rmSync(path, { recursive: true });
  }
}

const codeThrown = (run: () => unknown): string | undefined => {
  try {
    run();
  } catch (error) {
    return codeOf(error) ?? (error as Error).name;
  }
  return undefined;
};

test("under Bun on Linux, nothing is lost", () => {
  if (process.platform === "linux") expect(native.lost).toEqual([]);
  expect(portableHost().lost).toContain("extended attributes");
});

test("names are sorted as bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ max: 3, minLength: 1, maxLength: 6 })), (names) => {
      const list = new NameList();
      for (const name of names) list.add(name, 0, name.length);
      list.sort();
      const sorted = Array.from({ length: list.length }, (_, at) => Buffer.from(list.name(at)));
      expect(sorted).toEqual(
        names.toSorted((a, b) => Buffer.compare(a, b)).map((name) => Buffer.from(name)),
      );
    }),
  );
});

describe.each([
  ["native", native],
  ["portable", portableHost()],
])("%s", (kind, host) => {
  test("names are bytes: every byte but / and NUL, and 255 of them", () => {
    inFolder(host, (folder) => {
      const names = Array.from({ length: 255 }, (_, at) => Uint8Array.of(at + 1, 0x78)).filter(
        (name) => name[0] !== 0x2f,
      );
      names.push(new Uint8Array(255).fill(0xff));
      for (const name of names) host.makeFolder(folder, name, 0o700);
      const list = host.list(folder);
      list.sort();
      expect(Array.from({ length: list.length }, (_, at) => Buffer.from(list.name(at)))).toEqual(
        names.toSorted((a, b) => Buffer.compare(a, b)).map((name) => Buffer.from(name)),
      );
      for (const name of names) expect(host.stat(folder, name)?.type).toBe("directory");
    });
  });

  test("a name that is not one component is refused before any call", () => {
    inFolder(host, (folder) => {
      for (const name of ["", ".", "..", "a/b", "a\0", "/", "x".repeat(256)]) {
        expect(codeThrown(() => host.makeFolder(folder, bytes(name), 0o700))).toBe("RangeError");
        expect(codeThrown(() => host.openFolder(folder, bytes(name)))).toBe("RangeError");
      }
    });
  });

  test("no link is followed, neither at the end of a path nor on the way", () => {
    inFolder(host, (folder, path) => {
      host.makeFolder(folder, bytes("real"), 0o755);
      const real = host.openFolder(folder, bytes("real"));
      host.makeFolder(real, bytes("inner"), 0o755);
      symlinkSync("real", join(path, "link"));
      symlinkSync("/etc/passwd", join(path, "file"));
      const isRefused = (run: () => unknown): void =>
        expect(["ELOOP", "ENOTDIR"]).toContain(codeThrown(run) ?? "nothing");
      isRefused(() => host.openFolder(folder, bytes("link")));
      isRefused(() => host.openBeneath(folder, bytes("link/inner")));
      isRefused(() => host.openFile(folder, bytes("file"), constants.O_RDONLY));
      expect(codeThrown(() => host.openBeneath(folder, bytes("real/../real")))).toBe("RangeError");
      const inner = host.openBeneath(folder, bytes("real/inner"));
      expect(host.statOpen(inner.fd).inode).toBe(host.stat(real, bytes("inner"))!.inode);
      const above = host.openAbove(inner);
      expect(host.statOpen(above.fd).inode).toBe(host.statOpen(real.fd).inode);
      for (const open of [real, inner, above]) host.close(open);
      expect(Buffer.from(host.readLink(folder, bytes("file"))).toString()).toBe("/etc/passwd");
      expect(codeThrown(() => host.setMode(folder, bytes("file"), 0o600))).toMatch(
        /^E(NOTSUP|OPNOTSUPP)$/,
      );
    });
  });

  test("a file that is not there is undefined to stat, and ENOENT to all else", () => {
    inFolder(host, (folder) => {
      expect(host.stat(folder, bytes("gone"))).toBeUndefined();
      expect(codeThrown(() => host.openFolder(folder, bytes("gone")))).toBe("ENOENT");
      expect(codeThrown(() => host.readLink(folder, bytes("gone")))).toBe("ENOENT");
      expect(codeThrown(() => host.removeFile(folder, bytes("gone")))).toBe("ENOENT");
    });
  });

  test("times before 1970 and after 2038, as find prints them", () => {
    inFolder(host, (folder, path) => {
      writeFileSync(join(path, "file"), "");
      host.makeLink(folder, bytes("link"), bytes("nowhere"));
      const exact = kind === "native";
      for (const [seconds, nanoseconds] of [
        [-1, 999_999_999],
        [-86_400, 1],
        [2 ** 32 + 5, 123_456_789],
        [0, 0],
      ] as const) {
        const time = { seconds, nanoseconds: exact ? nanoseconds : 0 };
        for (const name of ["file", "link"]) {
          host.setTime(folder, bytes(name), time);
          expect(host.stat(folder, bytes(name))!.mtime).toEqual(time);
        }
        const fd = openSync(path, constants.O_RDONLY);
        host.setTimeOpen(fd, time);
        closeSync(fd);
        expect(host.statOpen(folder.fd).mtime).toEqual(time);
        const printed = execFileSync("stat", ["-c", "%.9Y", join(path, "file")], {
          encoding: "utf8",
        });
        const total = BigInt(seconds) * 1_000_000_000n + BigInt(time.nanoseconds);
        expect(BigInt(printed.trim().replace(".", ""))).toBe(total);
      }
    });
  });

  test("hard links, modes and renames", () => {
    inFolder(host, (folder, path) => {
      writeFileSync(join(path, "one"), "x");
      host.makeFolder(folder, bytes("below"), 0o755);
      const below = host.openFolder(folder, bytes("below"));
      host.linkFile(folder, bytes("one"), below, bytes("two"));
      expect(host.stat(folder, bytes("one"))).toEqual(host.stat(below, bytes("two")));
      expect(host.stat(folder, bytes("one"))!.links).toBe(2);
      host.setMode(below, bytes("two"), 0o4751);
      expect(host.stat(folder, bytes("one"))!.mode).toBe(0o4751);
      host.rename(below, bytes("two"), folder, bytes("three"));
      host.removeFile(folder, bytes("one"));
      host.close(below);
      host.removeFolder(folder, bytes("below"));
      expect(host.list(folder).length).toBe(1);
    });
  });

  test("users and groups have names", () => {
    expect(host.userName(0)).toBe("root");
    expect(host.groupId(host.groupName(0)!)).toBe(0);
    expect(host.userId("root")).toBe(0);
    expect(host.userName(4_000_000_000)).toBeUndefined();
    expect(host.userId("no-such-user")).toBeUndefined();
  });
});

describe.skipIf(process.platform !== "linux")("native only", () => {
  test("fifos, sockets and devices", () => {
    inFolder(native, (folder, path) => {
      native.makeSpecial(folder, bytes("fifo"), "fifo", 0o640, 0, 0);
      native.makeSpecial(folder, bytes("socket"), "socket", 0o600, 0, 0);
      expect(native.stat(folder, bytes("fifo"))!.type).toBe("fifo");
      expect(native.stat(folder, bytes("socket"))!.type).toBe("socket");
      // Opening a fifo that nobody writes to does not wait.
      closeSync(native.openFile(folder, bytes("fifo"), constants.O_RDONLY));
      if (!isRoot) return;
      native.makeSpecial(folder, bytes("device"), "character-device", 0o600, 300, 70_000);
      const printed = execFileSync("stat", ["-c", "%Hr %Lr", join(path, "device")], {
        encoding: "utf8",
      });
      expect(printed.trim()).toBe("300 70000");
      expect(native.stat(folder, bytes("device"))).toMatchObject({ major: 300, minor: 70_000 });
      expect(
        portableHost().stat({ fd: folder.fd, path: bytes(path) }, bytes("device")),
      ).toMatchObject({
        major: 300,
        minor: 70_000,
      });
    });
  });

  test("extended attributes, of no bytes too, and not through a link", () => {
    inFolder(native, (folder, path) => {
      writeFileSync(join(path, "file"), "");
      symlinkSync("file", join(path, "link"));
      const value = new Uint8Array(2000).map((_, at) => at);
      native.setAttribute(folder, bytes("file"), "user.idk", value);
      native.setAttribute(folder, bytes("file"), "user.none", new Uint8Array());
      const read = native.attributes(folder, bytes("file"));
      expect([...read.keys()].toSorted()).toEqual(["user.idk", "user.none"]);
      expect(read.get("user.idk")).toEqual(value);
      expect(native.attributes(folder, bytes("link")).size).toBe(0);
    });
  });

  test("extended attributes that cannot be read, which are reported", () => {
    const calls = openLibc();
    const read = (host: Host, folder: Folder): [attributes: string[], problems: string[]] => {
      const problems: string[] = [];
      const found = host.attributes(folder, bytes("file"), (problem) => problems.push(problem));
      return [[...found.keys()], problems];
    };
    inFolder(native, (folder, path) => {
      writeFileSync(join(path, "file"), "");
      native.setAttribute(folder, bytes("file"), "user.idk", bytes("value"));
      const [at, key] = [bytes(`${path}/file\0`), Buffer.from("user.\xff\0", "latin1")];
      calls.checked(calls.libc.lsetxattr(at, key, bytes("value"), 5, 0), "lsetxattr");
      expect(read(native, folder)).toEqual([
        ["user.idk"],
        ['the extended attribute "user.\ufffd" is left out: its name is not UTF-8'],
      ]);
      const failing = (code: "EIO" | "ENODATA"): Host => {
        const lgetxattr = (() => -1n) as unknown as typeof calls.libc.lgetxattr;
        const errno = () => constantsOfSystem.errno[code];
        return linuxHost({ ...calls, libc: { ...calls.libc, lgetxattr }, errno });
      };
      const [attributes, problems] = read(failing("EIO"), folder);
      expect(attributes).toEqual([]);
      expect(problems).toContain('the extended attribute "user.idk" cannot be read: EIO');
      // Someone has removed it since the names were read.
      expect(read(failing("ENODATA"), folder)).toEqual([[], []]);
    });
  });

  test("holes", () => {
    inFolder(native, (_, path) => {
      const fd = openSync(join(path, "file"), "w+");
      writeSync(fd, "x", 4 * 2 ** 20);
      ftruncateSync(fd, 9 * 2 ** 20);
      const ranges = [...native.dataRanges(fd, 9 * 2 ** 20)];
      expect(ranges).toHaveLength(1);
      expect(ranges[0]![0]).toBe(4 * 2 ** 20);
      expect(ranges[0]![1]).toBeLessThan(5 * 2 ** 20);
      const { allocated } = native.statOpen(fd);
      expect(allocated).toBeGreaterThan(0);
      expect(allocated).toBeLessThan(9 * 2 ** 20);
      expect(portableHost().statOpen(fd).allocated).toBe(allocated);
      closeSync(fd);
    });
  });

  test("owners, also of links", () => {
    if (!isRoot) return;
    inFolder(native, (folder) => {
      native.makeLink(folder, bytes("link"), bytes("/nowhere"));
      native.setOwner(folder, bytes("link"), 4_000_000_000, 12);
      expect(native.stat(folder, bytes("link"))).toMatchObject({ uid: 4_000_000_000, gid: 12 });
    });
  });

  test("a path longer than the kernel takes", () => {
    inFolder(native, (folder, path) => {
      const name = new Uint8Array(250).fill(0x61);
      let current = native.openRoot(bytes(path));
      for (let level = 0; level < 40; level += 1) {
        native.makeFolder(current, name, 0o700);
        const next = native.openFolder(current, name);
        native.close(current);
        current = next;
      }
      const all = Array.from({ length: 40 }, () => Buffer.from(name).toString()).join("/");
      const deep = native.openBeneath(folder, bytes(all));
      expect(native.statOpen(deep.fd).inode).toBe(native.statOpen(current.fd).inode);
      native.close(deep);
      native.close(current);
      execFileSync("rm", ["-rf", join(path, Buffer.from(name).toString())]);
    });
  });
});
