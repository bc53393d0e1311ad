import { rmSync } from "node:fs";
import {
  chmod,
  type FileHandle,
  link,
  lstat,
  open,
  realpath,
  rename,
  rm,
  stat,
  unlink,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { openSystemCalls, type SystemCalls } from "../system-calls.ts";
import { assertRoom } from "./disk.ts";
import type { HeldFolder } from "./held-folders.ts";
import { partFiles } from "./part-file.ts";

/** A file that appears under its name complete or not at all. */
export interface OutputFile {
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Keeps the partial file if this run fails, for the next run, and takes over the one of an earlier
   * run, to be verified with `read`.
   *
   * @returns its length in bytes
   */
  keep(): Promise<number>;
  /**
   * Makes sure that the disk has room for this many bytes, with those that it has from an earlier run,
   * and reserves it if the system can. The length of the file stays as it is.
   *
   * @param claimed the sender's claim, for which nothing is reserved
   * @throws Failure `output`
   */
  reserve(bytes: number, claimed?: boolean): Promise<void>;
  /** Reads until `into` is full or the file ends. */
  read(offset: number, into: Uint8Array): Promise<number>;
  /** Sets the offset of the next write. */
  continueAt(offset: number): void;
  /** Gives the file its name, after its content is on the disk. */
  commit(how?: CommitOptions): Promise<void>;
  /**
   * Removes the partial file unless it is kept.
   *
   * @returns its path if it was kept
   */
  discard(): Promise<string | undefined>;
}

export interface CommitOptions {
  /** The modification time, by default now. */
  readonly time?: Date | undefined;
  /** Remove the partial files of earlier runs, too. */
  readonly removeEarlier?: boolean;
}

export interface OutputFileOptions {
  /** Replace an existing file. */
  readonly force: boolean;
  /** The address of the content, to find partial files of earlier runs. */
  readonly address: string;
  /** Replace the target of a symbolic link, not the link itself. */
  readonly follow: boolean;
  /** Holds its folder, in which it is then created and named. */
  readonly hold?: (() => HeldFolder) | undefined;
  /** If false, the system writes the content to the disk when it likes, as for any other program. */
  readonly sync?: boolean;
}

/** Files shorter than this are neither reserved nor written to the disk before the end. */
const LARGE = 32 * 2 ** 20;
/** Bytes that the system is told to write at a time: a few writes of the disk. */
const STEP = 8 * 2 ** 20;

interface Target {
  readonly path: string;
  /** The mode of the file to replace. */
  readonly mode: number | undefined;
}

/**
 * Creates a file of another name in the same folder. Only the owner can read it until it is complete;
 * then it gets the mode set by the umask, or that of the file it replaces.
 */
export async function createOutputFile(
  path: string,
  { force, address, follow, hold, sync = true }: OutputFileOptions,
): Promise<OutputFile> {
  const target = await findTarget(path, { force, follow });
  const failed = (error: unknown) =>
    new Failure("output", `cannot write ${path}: ${reasonOf(error)}`, error);

  const folder = hold?.();
  const within = (file: string): string => folder?.at(basename(file)) ?? file;
  const parts = partFiles(within(target.path), address);
  const temporary = parts.own;
  let handle: FileHandle;
  try {
    handle = await open(temporary, "wx+", 0o600);
  } catch (error) {
    folder?.release();
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  }
  let end = 0;
  let calls: SystemCalls | undefined;
  /** Up to here the system has begun to write to the disk. */
  let begun = 0;
  /** Set by `keep`. */
  let kept = false;
  let takenOver = false;
  /** After a failed sync, the page cache may hide data loss, which would only show later. */
  let lost = false;
  const worthKeeping = () => kept && !lost && (takenOver || end > 0);
  const synced = async (): Promise<void> => {
    try {
      await handle.sync();
    } catch (error) {
      lost = true;
      throw error;
    }
  };
  // Covers every orderly exit, such as after a second Ctrl-C.
  const removeAtExit = (): void => {
    if (!worthKeeping()) rmSync(temporary, { force: true });
  };
  process.on("exit", removeAtExit);

  return {
    async write(bytes) {
      try {
        for (let written = 0; written < bytes.length;) {
          const left = bytes.length - written;
          const { bytesWritten } = await handle.write(bytes, written, left, end);
          written += bytesWritten;
          end += bytesWritten;
        }
        // Otherwise the sync at the end would have to wait for all of it.
        if (sync && end - begun >= STEP) {
          calls?.startWriting(handle.fd, begun, end - begun);
          begun = end;
        }
      } catch (error) {
        throw failed(error);
      }
    },
    async keep() {
      try {
        kept = true;
        const earlier = await parts.takeOver();
        if (earlier === undefined) return 0;
        takenOver = true;
        await handle.close();
        handle = earlier;
        return (await handle.stat()).size;
      } catch (error) {
        throw failed(error);
      }
    },
    async reserve(bytes, claimed = false) {
      try {
        const { blocks } = await handle.stat();
        await assertRoom(bytes - blocks * BLOCK, temporary, path);
        if (bytes < LARGE) return;
        calls = await openSystemCalls();
        const code = claimed ? undefined : calls?.reserve(handle.fd, bytes);
        if (code !== undefined) throw Object.assign(new Error(code), { code });
      } catch (error) {
        throw error instanceof Failure ? error : failed(error);
      }
    },
    async read(offset, into) {
      try {
        for (let filled = 0; ;) {
          const left = into.length - filled;
          const { bytesRead } = await handle.read(into, filled, left, offset + filled);
          filled += bytesRead;
          if (bytesRead === 0 || filled === into.length) return filled;
        }
      } catch (error) {
        throw failed(error);
      }
    },
    continueAt(offset) {
      end = offset;
      begun = offset;
    },
    async commit({ time, removeEarlier = false } = {}) {
      try {
        // The earlier run's file may be longer than its valid part.
        if (takenOver) await handle.truncate(end);
        // Before chmod, because it may take long, and if the process is killed meanwhile, only a file with
        // mode 600 is resumed. File systems keep the order of what follows.
        if (sync) await synced();
        await handle.chmod(target.mode ?? 0o666 & ~process.umask());
        // Some file systems cannot store this time. The content is complete nevertheless.
        if (time !== undefined) await handle.utimes(time, time).catch(() => {});
        await handle.close();
        if (force) await rename(temporary, within(target.path));
        else await nameExclusively(temporary, within(target.path));
        // The content is complete, whatever is left.
        if (removeEarlier) await parts.removeLeft().catch(() => {});
      } catch (error) {
        if (systemCodeOf(error) === "EEXIST") throw alreadyExists(path);
        throw failed(error);
      }
      process.off("exit", removeAtExit);
      folder?.release();
    },
    async discard() {
      process.off("exit", removeAtExit);
      // What is reserved beyond its end is free again.
      if (worthKeeping()) await freeReserved(handle).catch(() => {});
      await handle.close().catch(() => {});
      if (worthKeeping()) {
        // commit may have changed the mode already.
        await chmod(temporary, 0o600).catch(() => {});
        folder?.release();
        return join(dirname(target.path), basename(temporary));
      }
      await rm(temporary, { force: true }).catch(() => {});
      folder?.release();
      return undefined;
    },
  };
}

/** The unit of `blocks` in the status of a file, whatever the file system's own blocks are. */
const BLOCK = 512;

async function freeReserved(handle: FileHandle): Promise<void> {
  await handle.truncate((await handle.stat()).size);
}

async function findTarget(
  path: string,
  { force, follow }: Pick<OutputFileOptions, "force" | "follow">,
): Promise<Target> {
  let isLink: boolean;
  try {
    isLink = (await lstat(path)).isSymbolicLink();
  } catch (error) {
    // A missing folder is reported when the file is created.
    if (systemCodeOf(error) === "ENOENT") return { path, mode: undefined };
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  }
  if (isLink && !follow) {
    if (!force) throw alreadyExists(path);
    return { path, mode: undefined };
  }
  const stats = await stat(path).catch((error: unknown) => {
    // A dangling symbolic link: the link is replaced.
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  });
  if (stats?.isDirectory()) throw usage(`${path} is a folder; name a file in it`);
  if (stats?.isFile() === false) {
    throw usage(`${path} is not a regular file; write to it with -o - > ${path}`);
  }
  if (!force) throw alreadyExists(path);
  // Replace the target of a symbolic link, not the link.
  return stats
    ? // Not the bits by which it runs as its owner: the new file may have another owner.
      { path: await realpath(path), mode: stats.mode & 0o777 }
    : { path, mode: undefined };
}

function alreadyExists(path: string): Failure {
  return usage(`${path} already exists; use --force to replace it`);
}

/** Unlike a rename, a link never replaces a file created in the meantime. */
async function nameExclusively(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") throw error;
    // A file system without hard links. The name was free a moment ago.
    await rename(temporary, path);
    return;
  }
  // Not rm, which calls lstat before. The file is complete, even if someone has removed this name of it.
  await unlink(temporary).catch((error: unknown) => {
    if (systemCodeOf(error) !== "ENOENT") throw error;
  });
}
