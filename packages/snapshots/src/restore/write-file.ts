import type { Planned, RestoreContext } from "./context.ts";
import { closeSync, constants, writeSync } from "node:fs";
import { makeTemporary, putInPlace, removeIfThere } from "./place.ts";
import type { Folder } from "../files/host.ts";
import { beginsWith } from "./content-hash.ts";
import { codeOf } from "../files/errors.ts";
import { removeTree } from "./remove-tree.ts";

const { O_CREAT, O_EXCL, O_RDWR } = constants;

/** Opens a new file under a temporary name. */
export function openTemporary(
  { host }: RestoreContext,
  folder: Folder,
  { parent, name }: Planned,
): { readonly temporary: Uint8Array; readonly fd: number } {
  const open = (temporary: Uint8Array) =>
    host.openFile(folder, temporary, O_RDWR | O_CREAT | O_EXCL);
  const { temporary, made } = makeTemporary(host, folder, name, parent.hasTemporaryNames, open);
  return { temporary, fd: made };
}

/** Writes a file whose whole content is in memory and was compared with its hash. */
export function writeWhole(context: RestoreContext, file: Planned, content: Uint8Array): void {
  const { host, folders, report, verify } = context;
  const folder = folders.open(file.parent);
  const { temporary, fd } = openTemporary(context, folder, file);
  try {
    writeAt(fd, content, 0);
    if (verify && !beginsWith(fd, content)) throw new ReadBackDiffers();
    setAttributes(context, folder, temporary, fd, file);
  } catch (error) {
    removeIfThere(host, folder, temporary);
    throw error;
  } finally {
    closeSync(fd);
  }
  giveName(context, folder, temporary, file.name);
  report.written(content.length);
}

/** Sets the attributes of a file that is still open under its temporary name. */
export function setAttributes(
  { attributes, report }: RestoreContext,
  folder: Folder,
  temporary: Uint8Array,
  fd: number,
  file: Planned,
): void {
  const warn = (message: string) => report.warning(file, message);
  attributes.setOpen(fd, folder, temporary, file.attributes, warn);
}

/** Gives what is whole its own name, in place of what has that name. */
export function giveName(
  { host, deletes }: RestoreContext,
  folder: Folder,
  temporary: Uint8Array,
  name: Uint8Array,
): void {
  putInPlace(host, folder, temporary, name, () => {
    try {
      host.removeFolder(folder, name);
    } catch (error) {
      if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "EEXIST") throw error;
      if (!deletes) throw new FolderInTheWay();
      removeTree(host, folder, name);
    }
  });
}

export function writeAt(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}

export class ReadBackDiffers extends Error {
  readonly code = "EIO";

  constructor() {
    super("what is read back from the disk is not what was written: check the disk");
  }
}

class FolderInTheWay extends Error {
  readonly code = "ENOTEMPTY";

  constructor() {
    super(
      "a folder that is not empty has its name: move it away, or restore with `delete` to replace it",
    );
  }
}
