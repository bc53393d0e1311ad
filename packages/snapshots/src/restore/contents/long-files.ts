import type { Folder } from "../../files/host.ts";
import { codeOf } from "../../files/errors.ts";
import type { Planned, RestoreContext } from "../context.ts";
import { closeSync, constants, fstatSync, ftruncateSync } from "node:fs";
import { hashRange, hashZeros } from "./content-hash.ts";
import { ReadBackDiffers, giveName, openTemporary, otherHash, writeAt } from "./write-file.ts";
import { type Hashing, equal, startHash } from "@idk/storage/blobs";
import { FileReplaced, type Own, removeOwn } from "../target/place.ts";

/** A file of several pieces, or with holes, while it is written. */
export interface LongFile extends Planned {
  readonly size: number;
  readonly hash: Uint8Array;
  temporary: Uint8Array | undefined;
  own: Own | undefined;
  /** When it was made, in nanoseconds, as it was told when the file was shut: some systems tell a change. */
  born: bigint | undefined;
  fd: number | undefined;
  /** Of the first `hashed` bytes, as long as pieces come in order and the file stays open. */
  hasher: Hashing | undefined;
  hashed: number;
  /** Pieces that are known and not written yet. */
  pending: number;
  /** Whether all its pieces are known. */
  isComplete: boolean;
  isFailed: boolean;
}

/** Where a piece goes. */
export interface LongPiece {
  readonly file: LongFile;
  readonly at: number;
  /** Bytes of holes between this piece and the one before it. */
  readonly holeBefore: number;
}

/** Writes files in pieces, in whatever order these come. */
export interface LongFiles {
  begin(planned: Planned, size: number, hash: Uint8Array): LongFile;
  write(piece: LongPiece, content: Uint8Array): Promise<void>;
  /**
   * Compares its hash, sets its attributes and gives it its name.
   *
   * @throws StorageError `tree` if the content has another hash
   */
  finish(file: LongFile): Promise<void>;
  /** Removes what was written of a file. */
  discard(file: LongFile): void;
  /** Removes what was written of files that are not finished. */
  close(): void;
}

/** Files that are open at once, beside folders: a process often may open 1,024. */
const OPEN_MAX = 192;
const { O_RDWR } = constants;

const bornOf = (fd: number): bigint => fstatSync(fd, { bigint: true }).birthtimeNs;

export function longFiles(context: RestoreContext): LongFiles {
  const { host, folders, report, signal } = context;
  const opened = new Set<LongFile>();
  const unfinished = new Set<LongFile>();

  const shut = (file: LongFile): void => {
    opened.delete(file);
    if (file.fd !== undefined) {
      file.born = bornOf(file.fd);
      closeSync(file.fd);
    }
    file.fd = undefined;
    // Hashes take memory of the system; the bytes are read back at the end.
    file.hasher = undefined;
  };
  /** Opens a file that was shut, unless its name is another's by now, who may also have its inode. */
  const reopen = (file: LongFile, folder: Folder): number => {
    let fd: number;
    try {
      fd = host.openFile(folder, file.temporary!, O_RDWR);
    } catch (error) {
      // Renamed by another restore that has finished it, or now a symbolic link.
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ELOOP") throw new FileReplaced();
      throw error;
    }
    file.fd = fd;
    opened.add(file);
    if (host.statOpen(fd).inode === file.own?.inode && bornOf(fd) === file.born) return fd;
    file.own = undefined;
    throw new FileReplaced();
  };
  const create = (file: LongFile, folder: Folder): number => {
    const { hasTemporaryNames } = file.parent;
    const { temporary, fd } = openTemporary(context, folder, {
      name: file.name,
      hasTemporaryNames,
    });
    file.temporary = temporary;
    file.fd = fd;
    unfinished.add(file);
    opened.add(file);
    file.own = host.statOpen(fd);
    file.hasher = startHash();
    ftruncateSync(fd, file.size);
    return fd;
  };
  const open = (file: LongFile): number => {
    if (file.fd !== undefined) {
      opened.delete(file);
      opened.add(file);
      return file.fd;
    }
    const folder = folders.open(file.parent);
    const fd = file.temporary === undefined ? create(file, folder) : reopen(file, folder);
    if (opened.size > OPEN_MAX) for (const oldest of [...opened].slice(0, 1)) shut(oldest);
    return fd;
  };

  const remove = (file: LongFile): void => {
    const folder = folders.open(file.parent);
    if (file.fd === undefined) reopen(file, folder);
    removeOwn(host, folder, file.temporary!, file.own);
  };

  return {
    begin: (planned, size, hash) => ({
      ...planned,
      size,
      hash: new Uint8Array(hash),
      temporary: undefined,
      own: undefined,
      born: undefined,
      fd: undefined,
      hasher: undefined,
      hashed: 0,
      pending: 0,
      isComplete: false,
      isFailed: false,
    }),
    async write({ file, at, holeBefore }, content) {
      const fd = open(file);
      writeAt(fd, content, at);
      report.written(content.length);
      if (file.hasher === undefined || file.hashed !== at - holeBefore) return;
      await hashZeros(file.hasher, holeBefore, signal);
      file.hasher.update(content);
      file.hashed = at + content.length;
    },
    async finish(file) {
      const fd = open(file);
      let { hasher, hashed } = file;
      // The rest is a hole, or came in another order, and then is read as it was written.
      if (hasher === undefined) [hasher, hashed] = [startHash(), 0];
      if (!(await hashRange(hasher, fd, hashed, file.size, signal))) throw new ReadBackDiffers();
      if (!equal(new Uint8Array(hasher.digest()), file.hash)) {
        throw otherHash();
      }
      if (context.verify && hashed > 0) {
        const again = startHash();
        const isWhole = await hashRange(again, fd, 0, file.size, signal);
        if (!isWhole || !equal(new Uint8Array(again.digest()), file.hash)) {
          throw new ReadBackDiffers();
        }
      }
      const folder = folders.open(file.parent);
      const warn = (message: string) => report.warning(file, message);
      context.attributes.setOpen(fd, file.attributes, warn);
      giveName(context, folder, file.temporary!, file.own, file.name);
      unfinished.delete(file);
      shut(file);
    },
    discard(file) {
      try {
        if (unfinished.delete(file)) remove(file);
      } finally {
        shut(file);
      }
    },
    close() {
      for (const file of unfinished) {
        try {
          remove(file);
        } catch {
          // The folder is gone: so is the file.
        }
        shut(file);
      }
      unfinished.clear();
    },
  };
}
