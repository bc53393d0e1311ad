import type { AttributeSetter, Attributes } from "../target/attributes.ts";
import type { Folder, Host } from "../../files/host.ts";
import { closeSync, constants, writeSync } from "node:fs";
import { type Own, makeTemporary, putInPlace, removeOwn } from "../target/place.ts";
import type { PieceLocation } from "../../format/packs/piece.ts";
import { StorageError } from "@idk/storage";
import { beginsWith } from "./content-hash.ts";
import { codeOf } from "../../files/errors.ts";
import { decodePiece } from "../../format/packs/piece.ts";
import { equal, hash } from "@idk/storage/blobs";
import { removeTree } from "../target/remove-tree.ts";

const { O_CREAT, O_EXCL, O_RDWR } = constants;

/** What it takes to write files, also in a thread. */
export interface FileWriter {
  readonly host: Host;
  readonly attributes: AttributeSetter;
  /** Whether what was written is read back. */
  readonly verify: boolean;
  /** Whether folders that are not empty may be removed. */
  readonly deletes: boolean;
}

/** A file to write, in a folder. */
export interface NewFile {
  readonly name: Uint8Array;
  readonly attributes: Attributes;
  /** Whether the snapshot has entries in the folder that are named like temporary files. */
  readonly hasTemporaryNames: boolean;
}

type Warn = (message: string) => void;

/** Opens a new file under a temporary name. */
export function openTemporary(
  { host }: Pick<FileWriter, "host">,
  folder: Folder,
  { name, hasTemporaryNames }: Omit<NewFile, "attributes">,
): { readonly temporary: Uint8Array; readonly fd: number } {
  const open = (temporary: Uint8Array) =>
    host.openFile(folder, temporary, O_RDWR | O_CREAT | O_EXCL);
  const { temporary, made } = makeTemporary(host, folder, name, hasTemporaryNames, open);
  return { temporary, fd: made };
}

/**
 * Writes a file whose whole content is one piece.
 *
 * @param pack the plaintext of the piece's pack
 * @throws StorageError `tree` if the piece is malformed or its content has another hash
 */
export function writePiece(
  writer: FileWriter,
  folder: Folder,
  file: NewFile & { readonly hash: Uint8Array; readonly piece: PieceLocation },
  pack: Uint8Array,
  warn: Warn,
): void {
  const content = decodePiece(pack, file.piece);
  if (!equal(hash(content), file.hash)) throw otherHash();
  writeWhole(writer, folder, file, content, warn);
}

/** Writes a file whose whole content is in memory and was compared with its hash. */
export function writeWhole(
  writer: FileWriter,
  folder: Folder,
  file: NewFile,
  content: Uint8Array,
  warn: Warn,
): void {
  const { host, attributes, verify } = writer;
  const { temporary, fd } = openTemporary(writer, folder, file);
  let own: Own | undefined;
  try {
    own = host.statOpen(fd);
    writeAt(fd, content, 0);
    if (verify && !beginsWith(fd, content)) throw new ReadBackDiffers();
    attributes.setOpen(fd, file.attributes, warn);
    giveName(writer, folder, temporary, own, file.name);
  } catch (error) {
    removeOwn(host, folder, temporary, own);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/**
 * Gives what is whole its own name, in place of what has that name.
 *
 * @throws FileReplaced if the temporary name is another's. After any error, the caller removes its own.
 */
export function giveName(
  { host, deletes }: Pick<FileWriter, "host" | "deletes">,
  folder: Folder,
  temporary: Uint8Array,
  own: Own | undefined,
  name: Uint8Array,
): void {
  putInPlace(host, folder, temporary, own, name, () => {
    try {
      host.removeFolder(folder, name);
    } catch (error) {
      if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "EEXIST") throw error;
      if (!deletes) throw new FolderInTheWay();
      removeTree(host, folder, name);
    }
  });
}

export function otherHash(): StorageError {
  return new StorageError("tree", "its content is not that of its hash");
}

export function writeAt(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}

export class ReadBackDiffers extends Error {
  readonly code = "EIO";

  constructor() {
    super("the disk returns other bytes than were written to it; check the disk");
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
