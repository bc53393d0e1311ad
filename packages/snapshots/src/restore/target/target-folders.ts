import type { Folder, Host } from "../../files/host.ts";
import type { Attributes } from "./attributes.ts";
import { FILLING, UNFINISHED, isUnfinished } from "./unfinished.ts";
import type { Location } from "../report.ts";
import type { OpenTarget } from "./open-target.ts";
import { codeOf } from "../../files/errors.ts";
import { fchmodSync } from "node:fs";

/** A folder in the target. It is opened again whenever it is needed and was closed meanwhile. */
export interface TargetFolder extends Location {
  readonly parent: TargetFolder | undefined;
  /** The file system it is on, only to be compared; 0 if it is absent. */
  readonly device: number;
  /** Of the folder that a dry run would make, nothing is there. */
  readonly isAbsent: boolean;
  /** Made by this restore, so that nothing else is in it. */
  readonly isNew: boolean;
  /** Set at the end; undefined if the folder keeps what it has. */
  readonly attributes: Attributes | undefined;
  /** Whether the snapshot has entries in it that are named like temporary files. */
  hasTemporaryNames: boolean;
}

/** Makes and opens folders in the target, each below the one above it and without following links. */
export interface TargetFolders {
  readonly root: TargetFolder;
  /** Valid until the next call. */
  open(folder: TargetFolder): Folder;
  /** Opens a folder and keeps it open until it is unpinned as often as it was pinned. */
  pin(folder: TargetFolder): Folder;
  unpin(folder: TargetFolder): void;
  /**
   * Makes a folder, or opens the one that is there, and makes that accessible.
   *
   * @param attributes for a folder that is made
   * @throws FileError; `EEXIST` if something else has the name
   */
  enter(
    parent: TargetFolder,
    name: Uint8Array,
    attributes: Attributes | undefined,
    options: { readonly dryRun: boolean; readonly keepsAttributes: boolean },
  ): TargetFolder;
  /** Gives a folder the mode back that it had before `enter` made it accessible. */
  putModeBack(folder: TargetFolder): void;
  /** A folder that a dry run would make. */
  absent(parent: TargetFolder, name: Uint8Array): TargetFolder;
  /** Puts back the modes that were not, as after an error, and closes all folders. */
  close(): void;
}

interface Held extends TargetFolder {
  readonly parent: Held | undefined;
  handle: Folder | undefined;
  pins: number;
  readonly inode: bigint;
}

/** Folders that stay open, beside the target itself. */
const OPEN_MAX = 128;

/** @param target closed at the end */
export function targetFolders(host: Host, target: OpenTarget): TargetFolders {
  const opened = new Set<Held>();
  /** The modes that folders had before they were made accessible, the folders above first. */
  const modes = new Map<Held, number>();
  const held = (
    parent: Held | undefined,
    name: Uint8Array,
    handle: Folder | undefined,
    attributes: Attributes | undefined,
    isNew: boolean,
  ): Held => {
    const stat = handle && host.statOpen(handle.fd);
    const folder: Held = {
      parent,
      name,
      handle,
      attributes,
      isNew,
      pins: 0,
      isAbsent: handle === undefined,
      hasTemporaryNames: false,
      inode: stat?.inode ?? 0n,
      device: stat?.device ?? 0,
    };
    if (parent !== undefined && handle !== undefined) keep(folder);
    return folder;
  };
  const keep = (folder: Held): void => {
    opened.add(folder);
    if (opened.size > OPEN_MAX) closeOldest(folder);
  };
  const closeOldest = (except: Held): void => {
    for (const oldest of opened) {
      if (opened.size <= OPEN_MAX) return;
      if (oldest.pins > 0 || oldest === except) continue;
      opened.delete(oldest);
      host.close(oldest.handle!);
      oldest.handle = undefined;
    }
  };
  const { handle: rootHandle, attributes: rootAttributes, isNew: isRootNew } = target;
  const root = held(undefined, new Uint8Array(0), rootHandle, rootAttributes, isRootNew);

  const open = (wanted: Held): Folder => {
    const known = wanted.handle;
    if (known !== undefined) {
      // The one used last is closed last.
      if (opened.delete(wanted)) opened.add(wanted);
      return known;
    }
    const closed: Held[] = [];
    let at = wanted;
    while (at.handle === undefined) {
      closed.push(at);
      if (at.parent === undefined) throw new RangeError("a folder of a dry run cannot be opened");
      at = at.parent;
    }
    for (const folder of closed.toReversed()) {
      const handle = host.openFolder(folder.parent!.handle!, folder.name);
      const { inode, device } = host.statOpen(handle.fd);
      if (inode !== folder.inode || device !== folder.device) {
        host.close(handle);
        throw new FolderReplaced();
      }
      folder.handle = handle;
      keep(folder);
    }
    return wanted.handle!;
  };

  const putModeBack = (folder: Held): void => {
    const mode = modes.get(folder);
    if (mode === undefined) return;
    modes.delete(folder);
    fchmodSync(open(folder).fd, mode);
  };

  return {
    root,
    open: (folder) => open(folder as Held),
    pin(folder) {
      const handle = open(folder as Held);
      (folder as Held).pins += 1;
      return handle;
    },
    unpin(folder) {
      (folder as Held).pins -= 1;
    },
    enter(above, name, attributes, { dryRun, keepsAttributes }) {
      const parent = above as Held;
      const copy = new Uint8Array(name);
      const absent = (): Held => held(parent, copy, undefined, attributes, true);
      if (parent.isAbsent) return absent();
      const folder = open(parent);
      const stat = parent.isNew ? undefined : host.stat(folder, name);
      if (stat === undefined) {
        if (dryRun) return absent();
        host.makeFolder(folder, name, UNFINISHED);
        return held(parent, copy, host.openFolder(folder, name), attributes, true);
      }
      if (stat.type !== "directory") throw new NotAFolder();
      let isWidened = false;
      if (!dryRun && (stat.mode & FILLING) !== FILLING) {
        try {
          host.setMode(folder, name, stat.mode | FILLING);
          isWidened = true;
        } catch (error) {
          // It may be accessible all the same, for root, for example.
          if (codeOf(error) === undefined) throw error;
        }
      }
      const handle = host.openFolder(folder, name);
      const keeps = keepsAttributes && !isUnfinished(stat);
      const entered = held(parent, copy, handle, keeps ? undefined : attributes, false);
      if (isWidened) modes.set(entered, stat.mode);
      return entered;
    },
    putModeBack: (folder) => putModeBack(folder as Held),
    absent: (parent, name) => held(parent as Held, name, undefined, undefined, true),
    close() {
      for (const folder of [...modes.keys()].toReversed()) {
        try {
          putModeBack(folder);
        } catch {
          // It was replaced or removed meanwhile.
        }
      }
      for (const folder of opened) host.close(folder.handle!);
      opened.clear();
      if (rootHandle !== undefined) host.close(rootHandle);
    },
  };
}

/** Something other than a folder has the name of one. */
export class NotAFolder extends Error {
  readonly code = "ENOTDIR";

  constructor() {
    super("something that is not a folder has its name");
  }
}

class FolderReplaced extends Error {
  readonly code = "ESTALE";

  constructor() {
    super("the folder was replaced by another during the restore");
  }
}
