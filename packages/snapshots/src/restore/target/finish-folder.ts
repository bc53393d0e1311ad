import type { Folder, Host } from "../../files/host.ts";
import type { RestoreContext } from "../context.ts";
import type { TargetFolder } from "./target-folders.ts";
import { assertOfOne } from "../faults.ts";
import { removeTree } from "./remove-tree.ts";

/** The names in a folder of the target, compared with those of the snapshot as these come. */
export interface NamesThere {
  /** Whether the snapshot has had no name so far. */
  readonly isEmpty: boolean;
  /** Takes the next name of the snapshot. */
  pass(name: Uint8Array): void;
  /** The names that the snapshot does not have and that are deleted. Ends the comparison. */
  rest(): readonly Uint8Array[];
}

/** @param deletes whether a name that the snapshot does not have is deleted */
export function listedNames(
  host: Host,
  folder: Folder,
  deletes: (name: Uint8Array) => boolean,
): NamesThere {
  const names = host.list(folder);
  names.sort();
  const found: Uint8Array[] = [];
  let at = 0;
  let isEmpty = true;
  const take = (): void => {
    const name = names.name(at);
    if (deletes(name)) found.push(name);
    at += 1;
  };
  return {
    get isEmpty() {
      return isEmpty;
    },
    pass(name) {
      isEmpty = false;
      for (; at < names.length;) {
        const order = Buffer.compare(names.name(at), name);
        if (order > 0) return;
        if (order < 0) take();
        else at += 1;
      }
    },
    rest() {
      while (at < names.length) take();
      return found;
    },
  };
}

/** Deletes what the snapshot lacks, and sets the attributes, when everything in a folder is done. */
export function finishFolder(
  context: RestoreContext,
  target: TargetFolder,
  names: NamesThere | undefined,
  isWhole: boolean,
  dryRun: boolean,
): void {
  const { host, folders, attributes, report } = context;
  // What could not be read may have any of the names.
  const surplus = isWhole ? (names?.rest() ?? []) : [];
  const reason = reasonToKeep(context, target, names);
  if (surplus.length > 0 && reason !== undefined) {
    report.warning(target, `${reason}, so nothing in it is deleted`);
  }
  for (const name of reason === undefined ? surplus : []) {
    const location = { parent: target, name };
    try {
      if (dryRun || removeTree(host, folders.open(target), name)) report.deleted(location);
    } catch (error) {
      assertOfOne(error);
      report.error(location, error);
    }
  }
  if (dryRun) return;
  try {
    folders.putModeBack(target);
    if (target.attributes === undefined) return;
    const warn = (message: string) => report.warning(target, message);
    attributes.setOpen(folders.open(target).fd, target.attributes, warn);
  } catch (error) {
    assertOfOne(error);
    report.error(target, error);
  }
}

/** Why nothing in a folder is deleted, if so. */
function reasonToKeep(
  { folders, hasUnread }: RestoreContext,
  { device }: TargetFolder,
  names: NamesThere | undefined,
): string | undefined {
  // A backup of one file system has such folders empty.
  if (device !== folders.root.device) return "it is on another file system than the target";
  // So it has those that it could not list, and their entries do not tell.
  if (hasUnread && names?.isEmpty === true) {
    return "it is empty in the snapshot, whose backup could not read everything";
  }
  return undefined;
}
