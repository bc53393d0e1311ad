import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import {
  type FileType,
  type Folder,
  type Host,
  type Stat,
  assertName,
  componentsOf,
} from "./host.ts";
import { FileError, codeOf } from "./errors.ts";
import { NameList } from "./names.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const BILLION = 1_000_000_000n;

/** The host by the runtime's own calls, which know paths and no open folders. */
export function portableHost(): Host {
  // On Linux, the path of an open folder leads to it wherever it is moved. Elsewhere a folder that is
  // replaced by a link between two calls leads away.
  const isBound = existsSync("/proc/self/fd");
  const accounts = { users: readAccounts("/etc/passwd"), groups: readAccounts("/etc/group") };

  const at = (folder: Folder, name: Uint8Array): Buffer => {
    assertName(name);
    return Buffer.concat([folder.path, Buffer.from("/"), name]);
  };
  const folderAt = (path: Buffer, flags: number): Folder => {
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | flags);
    return { fd, path: isBound ? Buffer.from(`/proc/self/fd/${fd}`) : path };
  };
  const openFolder = (parent: Folder, name: Uint8Array): Folder =>
    folderAt(at(parent, name), O_NOFOLLOW);

  return {
    lost: [
      "extended attributes",
      "fifos, sockets and devices are not restored",
      "times are restored to the millisecond",
      "holes are found only by reading them",
      ...(isBound ? [] : ["folders that others replace by links during a restore"]),
    ],
    openRoot: (path) => folderAt(Buffer.from(path), 0),
    openFolder,
    openAbove: ({ path }) => folderAt(Buffer.concat([path, Buffer.from("/..")]), 0),
    openBeneath(folder, path) {
      let current = folder;
      for (const name of componentsOf(path)) {
        const last = current;
        try {
          current = openFolder(last, name);
        } finally {
          if (last !== folder) closeSync(last.fd);
        }
      }
      return current;
    },
    close: ({ fd }) => closeSync(fd),
    openFile: (folder, name, flags, mode = 0o600) =>
      openSync(at(folder, name), flags | O_NOFOLLOW | O_NONBLOCK, mode),

    list({ path }) {
      const names = new NameList();
      for (const name of readdirSync(Buffer.from(path), { encoding: "buffer" })) {
        names.add(name, 0, name.length);
      }
      return names;
    },
    stat(folder, name) {
      try {
        return statOf(lstatSync(at(folder, name), { bigint: true }));
      } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
      }
    },
    statOpen: (fd) => statOf(fstatSync(fd, { bigint: true })),
    readLink: (folder, name) => readlinkSync(at(folder, name), { encoding: "buffer" }),
    attributes: () => new Map(),
    *dataRanges(_fd, size) {
      if (size > 0) yield [0, size];
    },

    makeFolder(folder, name, mode) {
      mkdirSync(at(folder, name), mode);
    },
    makeLink: (folder, name, target) => symlinkSync(Buffer.from(target), at(folder, name)),
    linkFile: (from, fromName, to, toName) => linkSync(at(from, fromName), at(to, toName)),
    makeSpecial: () => {
      throw new FileError("ENOTSUP", "mknod");
    },
    rename: (from, fromName, to, toName) => renameSync(at(from, fromName), at(to, toName)),
    removeFile: (folder, name) => unlinkSync(at(folder, name)),
    removeFolder: (folder, name) => rmdirSync(at(folder, name)),
    setTime(folder, name, time) {
      const path = at(folder, name);
      lutimesSync(path, lstatSync(path).atime, dateOf(time));
    },
    setTimeOpen(fd, time) {
      futimesSync(fd, fstatSync(fd).atime, dateOf(time));
    },
    setMode(folder, name, mode) {
      const path = at(folder, name);
      if (lstatSync(path).isSymbolicLink()) throw new FileError("ENOTSUP", "chmod");
      chmodSync(path, mode);
    },
    setOwner: (folder, name, uid, gid) => lchownSync(at(folder, name), uid, gid),
    setAttribute: () => {
      throw new FileError("ENOTSUP", "setxattr");
    },
    setAttributeOpen: () => {
      throw new FileError("ENOTSUP", "fsetxattr");
    },

    userName: (uid) => accounts.users.names.get(uid),
    groupName: (gid) => accounts.groups.names.get(gid),
    userId: (name) => accounts.users.ids.get(name),
    groupId: (name) => accounts.groups.ids.get(name),
  };
}

/** As a date, because the runtimes take a negative number for now. To the millisecond. */
function dateOf({ seconds, nanoseconds }: Stat["mtime"]): Date {
  return new Date(seconds * 1000 + Math.floor(nanoseconds / 1e6));
}

function statOf(stat: BigIntStats): Stat {
  const device = Number(stat.rdev);
  const isDevice = stat.isBlockDevice() || stat.isCharacterDevice();
  return {
    type: typeOf(stat),
    mode: Number(stat.mode & 0o7777n),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    size: Number(stat.size),
    allocated: Number(stat.blocks) * 512,
    mtime: timeOf(stat.mtimeNs),
    ctime: timeOf(stat.ctimeNs),
    inode: stat.ino,
    device: Number(stat.dev),
    links: Number(stat.nlink),
    // As glibc's `major` and `minor`, for numbers below 2^32, which are all that Linux has.
    major: isDevice ? (device >>> 8) & 0xfff : 0,
    minor: isDevice ? (device & 0xff) | ((device >>> 12) & 0xfff00) : 0,
  };
}

function timeOf(nanoseconds: bigint): Stat["mtime"] {
  // The remainder of a negative number is negative.
  const rest = ((nanoseconds % BILLION) + BILLION) % BILLION;
  return { seconds: Number((nanoseconds - rest) / BILLION), nanoseconds: Number(rest) };
}

function typeOf(stat: BigIntStats): FileType {
  if (stat.isDirectory()) return "directory";
  if (stat.isSymbolicLink()) return "link";
  if (stat.isFIFO()) return "fifo";
  if (stat.isSocket()) return "socket";
  if (stat.isCharacterDevice()) return "character-device";
  return stat.isBlockDevice() ? "block-device" : "file";
}

/** Names and ids of a file such as /etc/passwd: `name:…:id:…`. The first of two lines is in force. */
function readAccounts(path: string): { names: Map<number, string>; ids: Map<string, number> } {
  const names = new Map<number, string>();
  const ids = new Map<string, number>();
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // Without the file, ids have no names.
  }
  for (const line of text.split("\n")) {
    const [name, , number] = line.split(":");
    if (name === undefined || name === "" || number === undefined || !/^\d+$/.test(number))
      continue;
    const id = Number(number);
    if (!names.has(id)) names.set(id, name);
    if (!ids.has(name)) ids.set(name, id);
  }
  return { names, ids };
}
