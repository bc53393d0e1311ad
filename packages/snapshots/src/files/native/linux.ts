import {
  type FileType,
  type Folder,
  type Host,
  type Stat,
  assertName,
  componentsOf,
} from "../host.ts";
import { FileError, errorOf } from "../errors.ts";
import { chmodSync, closeSync, constants } from "node:fs";
import { NameList } from "../names.ts";
import { ptr } from "bun:ffi";
import { type Calls, openLibc } from "./libc.ts";

const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_REMOVEDIR = 0x200;
const AT_NO_AUTOMOUNT = 0x800;
const AT_EMPTY_PATH = 0x1000;
const STATX_BASIC_STATS = 0x7ff;
const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_BENEATH = 0x08;
const UTIME_OMIT = (1 << 30) - 2;
const [SEEK_SET, SEEK_DATA, SEEK_HOLE] = [0, 3, 4];
const PATH_MAX = 4096;
/** What a stat counts in, whatever the file system has. */
const BLOCK = 512;
/** The names of all attributes of a file, and the value of one (limits of the kernel). */
const ATTRIBUTE_MAX = 65_536;

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

const DOT = Buffer.from(".");
const SLASH = 0x2f;

/** By the upper four bits of a mode. */
const TYPES: Readonly<Record<number, FileType>> = {
  0o01: "fifo",
  0o02: "character-device",
  0o04: "directory",
  0o06: "block-device",
  0o10: "file",
  0o12: "link",
  0o14: "socket",
};
const TYPE_BITS = { fifo: 0o01, "character-device": 0o02, "block-device": 0o06, socket: 0o14 };

/**
 * The host by calls of Linux, relative to open folders.
 *
 * @throws Error if they cannot be made here
 */
export function linuxHost(calls: Calls = openLibc()): Host {
  const { libc, numbers, errno, checked, account } = calls;
  const empty = new Uint8Array(1);
  const nothing = new Uint8Array(0);
  // Calls are synchronous, so one buffer for each argument is enough.
  const [first, second] = [new Uint8Array(PATH_MAX + 1), new Uint8Array(PATH_MAX + 1)];
  const value = new Uint8Array(ATTRIBUTE_MAX);
  const listing = new Uint8Array(ATTRIBUTE_MAX);
  const listingView = new DataView(listing.buffer);
  const stat64 = new BigUint64Array(32);
  const stat32 = new Uint32Array(stat64.buffer);
  const stat16 = new Uint16Array(stat64.buffer);
  const times = new BigInt64Array(4);
  const how = new BigUint64Array(3);

  const text = (bytes: Uint8Array, into: Uint8Array): Uint8Array => {
    if (bytes.length >= into.length) throw new FileError("ENAMETOOLONG", "path");
    if (bytes.includes(0)) throw new FileError("EINVAL", "path");
    into.set(bytes);
    into[bytes.length] = 0;
    return into;
  };
  const component = (name: Uint8Array, into = first): Uint8Array => {
    const { length } = name;
    // A first byte above a slash is not a dot: nearly all names, of which a walk passes a million.
    let isPlain = length > 0 && length <= 255 && name[0]! > SLASH;
    for (let at = 0; isPlain && at < length; at += 1) {
      const byte = name[at]!;
      if (byte === SLASH || byte === 0) isPlain = false;
      into[at] = byte;
    }
    if (!isPlain) {
      assertName(name);
      into.set(name);
    }
    into[length] = 0;
    return into;
  };
  /** The path of the folder that calls by path were made in last: nearly always the same again. */
  let procFolder = { fd: -1, path: empty };
  /** The path of a name for calls that know no folders. The kernel resolves the first part to the open folder. */
  const procPath = ({ fd }: Folder, name: Uint8Array = DOT): Uint8Array => {
    if (name !== DOT) assertName(name);
    if (fd !== procFolder.fd) procFolder = { fd, path: Buffer.from(`/proc/self/fd/${fd}/`) };
    const { path } = procFolder;
    first.set(path);
    for (let at = 0; at < name.length; at += 1) first[path.length + at] = name[at]!;
    first[path.length + name.length] = 0;
    return first;
  };
  /** A pointer to nothing is refused, also for no bytes. */
  const pointable = (bytes: Uint8Array): Uint8Array => (bytes.length === 0 ? empty : bytes);
  const folderOf = (fd: number): Folder => ({ fd, path: nothing });
  const open = (fd: number, path: Uint8Array, flags: number, mode = 0): number => {
    return checked(libc.openat(fd, path, flags | O_CLOEXEC, mode), "openat");
  };
  const openFolder = (parent: Folder, name: Uint8Array): Folder =>
    folderOf(open(parent.fd, component(name), OPEN_FOLDER | O_NOFOLLOW));

  const readStat = (fd: number, path: Uint8Array, flags: number): number =>
    libc.syscall(numbers.statx, fd, path, flags, STATX_BASIC_STATS, stat64);
  const lastStat = (): Stat => {
    const mode = stat16[14]!;
    return {
      type: TYPES[mode >>> 12] ?? "file",
      mode: mode & 0o7777,
      uid: stat32[5]!,
      gid: stat32[6]!,
      size: stat32[10]! + stat32[11]! * 2 ** 32,
      allocated: (stat32[12]! + stat32[13]! * 2 ** 32) * BLOCK,
      // The upper half has the sign.
      mtime: { seconds: stat32[28]! + (stat32[29]! | 0) * 2 ** 32, nanoseconds: stat32[30]! },
      ctime: { seconds: stat32[24]! + (stat32[25]! | 0) * 2 ** 32, nanoseconds: stat32[26]! },
      inode: stat64[4]!,
      device: stat32[34]! * 2 ** 32 + stat32[35]!,
      links: stat32[4]!,
      major: stat32[32]!,
      minor: stat32[33]!,
    };
  };
  const setTimes = ({ seconds, nanoseconds }: Stat["mtime"]): BigInt64Array => {
    times[1] = BigInt(UTIME_OMIT);
    times[2] = BigInt(seconds);
    times[3] = BigInt(nanoseconds);
    return times;
  };

  let hasOpenat2 = true;
  const openBeneath = (folder: Folder, path: Uint8Array): Folder => {
    const components = componentsOf(path);
    if (hasOpenat2 && path.length < PATH_MAX) {
      how[0] = BigInt(OPEN_FOLDER);
      how[2] = BigInt(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
      // The call takes the structure where others take a number.
      const structure = Number(ptr(how));
      const fd = libc.syscall(numbers.openat2, folder.fd, text(path, first), structure, 24, null);
      if (fd >= 0) return folderOf(fd);
      // Containers that do not know the call forbid it.
      const error = errorOf(errno(), "openat2");
      if (!["ENOSYS", "EPERM", "EAGAIN"].includes(error.code)) throw error;
      hasOpenat2 = error.code === "EAGAIN";
    }
    let current = folder;
    for (const name of components) {
      const last = current;
      try {
        current = openFolder(last, name);
      } finally {
        if (last !== folder) closeSync(last.fd);
      }
    }
    return current;
  };
  const userNames = new Map<number, string | undefined>();
  const groupNames = new Map<number, string | undefined>();
  const named = (
    names: Map<number, string | undefined>,
    id: number,
    call: (id: number) => ReturnType<typeof libc.getpwuid>,
  ): string | undefined => {
    if (!names.has(id)) names.set(id, account(call(id))?.name);
    return names.get(id);
  };

  return {
    lost: [],
    openRoot: (path) => folderOf(open(-100, text(path, first), OPEN_FOLDER)),
    openFolder,
    openAbove: ({ fd }) => folderOf(open(fd, Buffer.from("..\0"), OPEN_FOLDER | O_NOFOLLOW)),
    openBeneath,
    close: ({ fd }) => closeSync(fd),
    openFile: (folder, name, flags, mode = 0o600) =>
      open(folder.fd, component(name), flags | O_NOFOLLOW | O_NONBLOCK, mode),

    list({ fd }) {
      const names = new NameList();
      checked(libc.lseek(fd, 0, SEEK_SET), "lseek");
      for (;;) {
        const length = libc.syscall(numbers.getdents64, fd, listing, listing.length, 0, null);
        if (checked(length, "getdents64") === 0) return names;
        for (let at = 0; at < length; at += listingView.getUint16(at + 16, true)) {
          const start = at + 19;
          const end = listing.indexOf(0, start);
          const isDots =
            listing[start] === 0x2e &&
            (end === start + 1 || (end === start + 2 && listing[start + 1] === 0x2e));
          if (!isDots) names.add(listing, start, end);
        }
      }
    },
    stat({ fd }, name) {
      if (readStat(fd, component(name), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) >= 0)
        return lastStat();
      const error = errorOf(errno(), "statx");
      if (error.code === "ENOENT") return undefined;
      throw error;
    },
    statOpen(fd) {
      checked(readStat(fd, empty, AT_EMPTY_PATH), "statx");
      return lastStat();
    },
    readLink({ fd }, name) {
      const result = libc.readlinkat(fd, component(name), value, value.length);
      const length = checked(result, "readlinkat");
      return value.slice(0, length);
    },
    attributes(folder, name, report) {
      const path = procPath(folder, name);
      const attributes = new Map<string, Uint8Array>();
      const length = Number(libc.llistxattr(path, listing, listing.length));
      if (length < 0) {
        const error = errorOf(errno(), "llistxattr");
        if (error.code === "ENOTSUP" || error.code === "EOPNOTSUPP") return attributes;
        throw error;
      }
      for (let at = 0; at < length;) {
        const end = listing.indexOf(0, at);
        const attribute = listing.slice(at, end + 1);
        at = end + 1;
        const size = Number(libc.lgetxattr(path, attribute, value, value.length));
        const reason = size < 0 ? errorOf(errno(), "lgetxattr").code : undefined;
        // It is gone since its name was read.
        if (reason === "ENODATA") continue;
        const key = decoded(attribute.subarray(0, -1));
        if (key !== undefined && reason === undefined) {
          attributes.set(key, value.slice(0, size));
          continue;
        }
        const shown = JSON.stringify(key ?? Buffer.from(attribute.subarray(0, -1)).toString());
        const why =
          reason === undefined ? "is left out: its name is not UTF-8" : `cannot be read: ${reason}`;
        report?.(`the extended attribute ${shown} ${why}`);
      }
      return attributes;
    },
    *dataRanges(fd, size) {
      for (let at = 0; at < size;) {
        const start = Number(libc.lseek(fd, at, SEEK_DATA));
        if (start < 0) {
          const { code } = errorOf(errno(), "lseek");
          // ENXIO: only a hole is left. Otherwise the file system knows no holes.
          if (code !== "ENXIO") yield [at, size];
          return;
        }
        if (start >= size) return;
        const hole = Number(libc.lseek(fd, start, SEEK_HOLE));
        const end = hole < 0 ? size : Math.min(hole, size);
        yield [start, end];
        at = end;
      }
    },

    makeFolder({ fd }, name, mode) {
      checked(libc.mkdirat(fd, component(name), mode), "mkdirat");
    },
    makeLink({ fd }, name, target) {
      checked(libc.symlinkat(text(target, second), fd, component(name)), "symlinkat");
    },
    linkFile(from, fromName, to, toName) {
      const old = component(fromName);
      checked(libc.linkat(from.fd, old, to.fd, component(toName, second), 0), "linkat");
    },
    makeSpecial({ fd }, name, type, mode, major, minor) {
      const bits = TYPE_BITS[type] * 2 ** 12 + mode;
      const device = type.endsWith("device")
        ? ((minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12)) >>> 0
        : 0;
      checked(libc.syscall(numbers.mknodat, fd, component(name), bits, device, null), "mknodat");
    },
    rename(from, fromName, to, toName) {
      const old = component(fromName);
      checked(libc.renameat(from.fd, old, to.fd, component(toName, second)), "renameat");
    },
    removeFile({ fd }, name) {
      checked(libc.unlinkat(fd, component(name), 0), "unlinkat");
    },
    removeFolder({ fd }, name) {
      checked(libc.unlinkat(fd, component(name), AT_REMOVEDIR), "unlinkat");
    },
    setTime({ fd }, name, time) {
      const result = libc.utimensat(fd, component(name), setTimes(time), AT_SYMLINK_NOFOLLOW);
      checked(result, "utimensat");
    },
    setTimeOpen(fd, time) {
      checked(libc.futimens(fd, setTimes(time)), "futimens");
    },
    setMode({ fd }, name, mode) {
      // fchmodat that follows no link came with Linux 6.6. The path of an open file leads to it alone.
      const file = open(fd, component(name), O_PATH | O_NOFOLLOW);
      try {
        chmodSync(`/proc/self/fd/${file}`, mode);
      } finally {
        closeSync(file);
      }
    },
    setOwner({ fd }, name, uid, gid) {
      checked(libc.fchownat(fd, component(name), uid, gid, AT_SYMLINK_NOFOLLOW), "fchownat");
    },
    setAttribute(folder, name, attribute, bytes) {
      const path = procPath(folder, name);
      const key = text(Buffer.from(attribute), second);
      checked(libc.lsetxattr(path, key, pointable(bytes), bytes.length, 0), "lsetxattr");
    },
    setAttributeOpen(fd, attribute, bytes) {
      const key = text(Buffer.from(attribute), second);
      checked(libc.fsetxattr(fd, key, pointable(bytes), bytes.length, 0), "fsetxattr");
    },

    userName: (uid) => named(userNames, uid, libc.getpwuid),
    groupName: (gid) => named(groupNames, gid, libc.getgrgid),
    userId: (name) => account(libc.getpwnam(text(Buffer.from(name), first)))?.id,
    groupId: (name) => account(libc.getgrnam(text(Buffer.from(name), first)))?.id,
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
