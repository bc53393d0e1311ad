import type { Folder, Host, Stat, Time } from "../../files/host.ts";
import { fchmodSync, fchownSync } from "node:fs";
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
  /** Sets those of an open file, or of an open folder, whose `name` is undefined. */
  setOpen(fd: number, at: Folder, name: Uint8Array | undefined, to: Attributes, warn: Warn): void;
  /** Sets those of what has a name, without following it if it is a link. */
  setNamed(folder: Folder, name: Uint8Array, isLink: boolean, to: Attributes, warn: Warn): void;
  /** Whether `change` would set anything. */
  differ(folder: Folder, name: Uint8Array, stat: Stat, to: Attributes): boolean;
  /** Sets those that differ from what is there. */
  change(folder: Folder, name: Uint8Array, stat: Stat, to: Attributes, warn: Warn): void;
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

  const setExtended = (
    at: Folder,
    name: Uint8Array | undefined,
    extended: Extended,
    warn: Warn,
  ): void => {
    for (const [key, value] of allowedOf(extended, warn)) {
      const what = `the extended attribute ${JSON.stringify(key)}`;
      tried(what, warn, () => host.setAttribute(at, name, key, value));
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
    setOpen(fd, at, name, to, warn) {
      if (policy.owner !== "none") {
        tried("owner and group", warn, () => fchownSync(fd, to.uid, to.gid));
      }
      if (to.extended !== undefined) setExtended(at, name, [...to.extended], warn);
      const mode = allowedMode(to, () => host.statOpen(fd), warn);
      tried("the mode", warn, () => fchmodSync(fd, mode));
      tried("the time", warn, () => host.setTimeOpen(fd, to.mtime));
    },
    setNamed(folder, name, isLink, to, warn) {
      if (policy.owner !== "none") {
        tried("owner and group", warn, () => host.setOwner(folder, name, to.uid, to.gid));
      }
      if (to.extended !== undefined) setExtended(folder, name, [...to.extended], warn);
      if (!isLink) {
        const mode = allowedMode(to, () => host.stat(folder, name)!, warn);
        tried("the mode", warn, () => host.setMode(folder, name, mode));
      }
      tried("the time", warn, () => host.setTime(folder, name, to.mtime));
    },
    differ(folder, name, stat, to) {
      const silently = (): void => {};
      return (
        hasOtherOwner(stat, to) ||
        !isSameTime(stat.mtime, to.mtime) ||
        (stat.type !== "link" && allowedMode(to, () => stat, silently) !== stat.mode) ||
        allowedOf(differingExtended(folder, name, to), silently).length > 0
      );
    },
    change(folder, name, stat, to, warn) {
      let current = stat;
      if (hasOtherOwner(stat, to)) {
        tried("owner and group", warn, () => host.setOwner(folder, name, to.uid, to.gid));
        // This may have taken away set-id bits.
        current = host.stat(folder, name) ?? stat;
      }
      setExtended(folder, name, differingExtended(folder, name, to), warn);
      if (stat.type !== "link") {
        const mode = allowedMode(to, () => current, warn);
        if (mode !== current.mode) {
          tried("the mode", warn, () => host.setMode(folder, name, mode));
        }
      }
      if (!isSameTime(stat.mtime, to.mtime)) {
        tried("the time", warn, () => host.setTime(folder, name, to.mtime));
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
