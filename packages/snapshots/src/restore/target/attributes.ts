import type { Folder, Host, Stat, Time } from "../../files/host.ts";
import { closeSync, constants, fchmodSync, fchownSync } from "node:fs";
import type { Entry } from "../../format/tree/entry.ts";
import type { RestoreOptions } from "../options.ts";
import { codeOf } from "../../files/errors.ts";

const SET_ID = 0o6000;

/** Which attributes a restore sets. */
export interface AttributePolicy {
  readonly owner: "none" | "names" | "numbers";
  readonly setId: boolean;
}

export function attributePolicy({ owner, numericOwner, setId }: RestoreOptions): AttributePolicy {
  const isRoot = process.geteuid?.() === 0;
  return {
    owner: numericOwner === true ? "numbers" : owner === true ? "names" : "none",
    setId: setId === true || (numericOwner === true && isRoot),
  };
}

/** What an entry is to have besides its content. */
export interface Attributes {
  /** Set-id bits too, even if they are not going to be set. */
  readonly mode: number;
  readonly mtime: Time;
  readonly uid: number;
  readonly gid: number;
  readonly extended: ReadonlyMap<string, Uint8Array> | undefined;
}

/** Takes attributes from entries, and sets them. Whatever a file system refuses becomes a warning. */
export interface AttributeSetter {
  of(entry: Entry): Attributes;
  /** Sets those of an open file or folder. */
  setOpen(fd: number, to: Attributes, warn: Warn): void;
  /** Sets those of what has a name and is not a file, without following it if it is a link. */
  setNamed(folder: Folder, name: Uint8Array, isLink: boolean, to: Attributes, warn: Warn): void;
  /** Whether `change` would set anything. */
  differ(folder: Folder, name: Uint8Array, stat: Stat, to: Attributes): boolean;
  /** Sets those that differ from what is there. Another file that has replaced it keeps its own. */
  change(folder: Folder, name: Uint8Array, stat: Stat, to: Attributes, warn: Warn): void;
}

/** What sets the attributes of one entry. */
interface Calls {
  stat(): Stat | undefined;
  owner(uid: number, gid: number): void;
  extended(key: string, value: Uint8Array): void;
  mode(mode: number): void;
  time(time: Time): void;
}

type Warn = (message: string) => void;
type Extended = readonly (readonly [string, Uint8Array])[];

export function attributeSetter(host: Host, policy: AttributePolicy): AttributeSetter {
  const ids = { users: new Map<string, number>(), groups: new Map<string, number>() };
  const idOf = (
    known: Map<string, number>,
    name: string | undefined,
    id: number,
    find: (name: string) => number | undefined,
  ): number => {
    if (policy.owner !== "names" || name === undefined || !isAccountName(name)) return id;
    const key = `${id}:${name}`;
    let found = known.get(key);
    if (found === undefined) {
      found = find(name) ?? id;
      // A stranger's snapshot may have as many names as files.
      if (known.size >= 4096) known.clear();
      known.set(key, found);
    }
    return found;
  };

  const allowedOf = (extended: Extended, warn: Warn): Extended =>
    extended.filter(([key]) => {
      // They grant rights, as set-id bits do.
      const isPrivileged = key.startsWith("security.") || key.startsWith("trusted.");
      if (isPrivileged && !policy.setId) {
        warn(
          `the extended attribute ${JSON.stringify(key)} is not set unless set-id bits are asked for`,
        );
      }
      return !isPrivileged || policy.setId;
    });

  const tried = (what: string, warn: Warn, set: () => void): boolean => {
    try {
      set();
      return true;
    } catch (error) {
      warn(`${what} cannot be set: ${codeOf(error) ?? String(error)}`);
      return false;
    }
  };

  const ofOpen = (fd: number): Calls => ({
    stat: () => host.statOpen(fd),
    owner: (uid, gid) => fchownSync(fd, uid, gid),
    extended: (key, value) => host.setAttributeOpen(fd, key, value),
    mode: (mode) => fchmodSync(fd, mode),
    time: (time) => host.setTimeOpen(fd, time),
  });
  const ofName = (folder: Folder, name: Uint8Array): Calls => ({
    stat: () => host.stat(folder, name),
    owner: (uid, gid) => host.setOwner(folder, name, uid, gid),
    extended: (key, value) => host.setAttribute(folder, name, key, value),
    mode: (mode) => host.setMode(folder, name, mode),
    time: (time) => host.setTime(folder, name, time),
  });

  const setExtended = (calls: Calls, extended: Extended, warn: Warn): void => {
    for (const [key, value] of allowedOf(extended, warn)) {
      const what = `the extended attribute ${JSON.stringify(key)}`;
      tried(what, warn, () => calls.extended(key, value));
    }
  };

  const setAll = (calls: Calls, isLink: boolean, to: Attributes, warn: Warn): void => {
    if (policy.owner !== "none") {
      tried("owner and group", warn, () => calls.owner(to.uid, to.gid));
    }
    if (to.extended !== undefined) setExtended(calls, [...to.extended], warn);
    if (!isLink) {
      const mode = allowedMode(to, () => calls.stat()!, warn);
      tried("the mode", warn, () => calls.mode(mode));
    }
    tried("the time", warn, () => calls.time(to.mtime));
  };

  const setDiffering = (
    calls: Calls,
    stat: Stat,
    to: Attributes,
    extended: Extended,
    warn: Warn,
  ): void => {
    let current = stat;
    if (hasOtherOwner(stat, to)) {
      tried("owner and group", warn, () => calls.owner(to.uid, to.gid));
      // This may have taken away set-id bits.
      current = calls.stat() ?? stat;
    }
    setExtended(calls, extended, warn);
    if (stat.type !== "link") {
      const mode = allowedMode(to, () => current, warn);
      if (mode !== current.mode) tried("the mode", warn, () => calls.mode(mode));
    }
    if (!isSameTime(stat.mtime, to.mtime)) {
      tried("the time", warn, () => calls.time(to.mtime));
    }
  };

  /** @param stat of the entry, after its owner was set */
  const allowedMode = ({ mode, uid, gid }: Attributes, stat: () => Stat, warn: Warn): number => {
    if ((mode & SET_ID) === 0) return mode;
    if (!policy.setId) {
      warn("its set-id bits are not set unless they are asked for");
      return mode & ~SET_ID;
    }
    const { uid: actualUser, gid: actualGroup } = stat();
    if (actualUser === uid && actualGroup === gid) return mode;
    warn("its set-id bits are not set, because its owner or group is another than in the snapshot");
    return mode & ~SET_ID;
  };

  const hasOtherOwner = (stat: Stat, to: Attributes): boolean =>
    policy.owner !== "none" && (stat.uid !== to.uid || stat.gid !== to.gid);

  const differingExtended = (folder: Folder, name: Uint8Array, to: Attributes): Extended => {
    if (to.extended === undefined) return [];
    const present = host.attributes(folder, name);
    return [...to.extended].filter(([key, value]) => {
      const old = present.get(key);
      return old === undefined || Buffer.compare(old, value) !== 0;
    });
  };

  const isOther = (stat: Stat, to: Attributes, extended: Extended): boolean => {
    const silently = (): void => {};
    return (
      hasOtherOwner(stat, to) ||
      !isSameTime(stat.mtime, to.mtime) ||
      (stat.type !== "link" && allowedMode(to, () => stat, silently) !== stat.mode) ||
      allowedOf(extended, silently).length > 0
    );
  };

  /** Sets what differs on a file, unless another has its name by now, which may be one from outside. */
  const changeFile = (
    folder: Folder,
    name: Uint8Array,
    stat: Stat,
    to: Attributes,
    extended: Extended,
    warn: Warn,
  ): void => {
    let fd: number;
    try {
      fd = host.openFile(folder, name, constants.O_RDONLY);
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      // Only for root could the other file be another user's, and root may read all.
      if (code === "EACCES") setDiffering(ofName(folder, name), stat, to, extended, warn);
      else warn(`its attributes cannot be set: ${code}`);
      return;
    }
    try {
      const { inode, device, links } = host.statOpen(fd);
      const isSame = inode === stat.inode && device === stat.device && links === stat.links;
      if (isSame) setDiffering(ofOpen(fd), stat, to, extended, warn);
      else warn("its attributes are not set, because another file has replaced it");
    } finally {
      closeSync(fd);
    }
  };

  return {
    of({ mode, mtime, uid, gid, extra }) {
      return {
        mode,
        mtime: { seconds: mtime.seconds, nanoseconds: mtime.nanoseconds },
        uid: idOf(ids.users, extra.user, uid, host.userId),
        gid: idOf(ids.groups, extra.group, gid, host.groupId),
        extended: extra.attributes && copied(extra.attributes),
      };
    },
    setOpen(fd, to, warn) {
      setAll(ofOpen(fd), false, to, warn);
    },
    setNamed(folder, name, isLink, to, warn) {
      setAll(ofName(folder, name), isLink, to, warn);
    },
    differ(folder, name, stat, to) {
      return isOther(stat, to, differingExtended(folder, name, to));
    },
    change(folder, name, stat, to, warn) {
      const extended = differingExtended(folder, name, to);
      // Most files are as they should be, and are not opened.
      if (stat.type === "file" && isOther(stat, to, extended)) {
        changeFile(folder, name, stat, to, extended, warn);
      } else {
        setDiffering(ofName(folder, name), stat, to, extended, warn);
      }
    },
  };
}

/** As long as any system has them. */
function isAccountName(name: string): boolean {
  return name !== "" && name.length <= 255 && !name.includes("\0");
}

export function isSameTime(a: Time, b: Time): boolean {
  return a.seconds === b.seconds && a.nanoseconds === b.nanoseconds;
}

/** Copies, because the entries of a node are views of its bytes. */
function copied(attributes: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> {
  return new Map([...attributes].map(([key, value]) => [key, new Uint8Array(value)]));
}
