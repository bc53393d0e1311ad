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
} from "node:fs/promises";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { partFiles } from "./part-file.ts";
import { createWriteBack } from "./write-back.ts";

/** A file that appears under its name whole or not at all. */
export interface OutputFile {
  write(bytes: Uint8Array): Promise<void>;
  /**
   * From now on what is written stays where it is if this run fails, for the next one; and what an
   * earlier run left is taken over, to be checked with `read`.
   *
   * @returns how many bytes there are
   */
  keep(): Promise<number>;
  /** Reads what is there; fewer bytes than there is room for only at its end. */
  read(offset: number, into: Uint8Array): Promise<number>;
  /** Writing goes on behind so many bytes. */
  continueAt(offset: number): void;
  /**
   * Gives the file its name. Nothing of it was visible under that name before.
   *
   * @param time of its last change; by default it has just been changed
   */
  commit(time?: Date): Promise<void>;
  /** Removes what earlier runs left of the same. */
  clearAway(): Promise<void>;
  /**
   * Removes what was written, unless it was committed or is to be kept.
   *
   * @returns where it is, if it was kept
   */
  discard(): Promise<string | undefined>;
}

export interface OutputFileOptions {
  /** Replace a file that is there. */
  readonly force: boolean;
  /** Of what is written: for what an earlier run left of the same. */
  readonly address: string;
  /** Replace what a symbolic link leads to, and not the link itself. */
  readonly follow: boolean;
}

interface Target {
  readonly path: string;
  /** Of the file to replace. */
  readonly mode: number | undefined;
}

/**
 * Creates a file of another name in the same folder. Until it is complete it can be read by nobody
 * else; then it gets the mode that the umask leaves, or that of the file it replaces.
 */
export async function createOutputFile(
  path: string,
  { force, address, follow }: OutputFileOptions,
): Promise<OutputFile> {
  const target = await findTarget(path, { force, follow });
  const parts = partFiles(target.path, address);
  const temporary = parts.own;
  const failed = (error: unknown) =>
    new Failure("output", `cannot write ${path}: ${reasonOf(error)}`, error);

  let handle: FileHandle;
  try {
    handle = await open(temporary, "wx+", 0o600);
  } catch (error) {
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  }
  let end = 0;
  const writeBack = createWriteBack(() => handle.datasync());
  /** Asked to be kept, and whether there is something to keep. */
  let kept = false;
  let takenOver = false;
  /** What a failed sync leaves reads well until it is gone from memory: nobody could tell later. */
  let lost = false;
  const worthKeeping = () => kept && !lost && (takenOver || end > 0);
  const synced = async (sync: () => Promise<void>): Promise<void> => {
    try {
      await sync();
    } catch (error) {
      lost = true;
      throw error;
    }
  };
  // Holds for whatever ends the process in an orderly way, such as a second Ctrl-C.
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
        writeBack.wrote(bytes.length);
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
        await writeBack.idle();
        await handle.close();
        handle = earlier;
        return (await handle.stat()).size;
      } catch (error) {
        throw failed(error);
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
    },
    async commit(time) {
      try {
        await synced(() => writeBack.assertGood());
        // What an earlier run left may go on behind what of it is right.
        if (takenOver) await handle.truncate(end);
        // Of what is kept twice, because the first may take long, and what is killed meanwhile is
        // to be continued: as a file of other modes it would not be.
        if (kept) await synced(() => handle.sync());
        await handle.chmod(target.mode ?? 0o666 & ~process.umask());
        // A file system that cannot have this time has all of the content nevertheless.
        if (time !== undefined) await handle.utimes(time, time).catch(() => {});
        await synced(() => handle.sync());
        await handle.close();
        if (force) await rename(temporary, target.path);
        else await nameExclusively(temporary, target.path);
      } catch (error) {
        if (systemCodeOf(error) === "EEXIST") throw alreadyExists(path);
        throw failed(error);
      }
      process.off("exit", removeAtExit);
    },
    clearAway: async () => parts.removeLeft().catch(() => {}),
    async discard() {
      process.off("exit", removeAtExit);
      await synced(() => writeBack.assertGood()).catch(() => {});
      await handle.close().catch(() => {});
      if (worthKeeping()) {
        // It may have been on its way to its name already, with the mode it would have there.
        await chmod(temporary, 0o600).catch(() => {});
        return temporary;
      }
      await rm(temporary, { force: true }).catch(() => {});
      return undefined;
    },
  };
}

async function findTarget(
  path: string,
  { force, follow }: Pick<OutputFileOptions, "force" | "follow">,
): Promise<Target> {
  let isLink: boolean;
  try {
    isLink = (await lstat(path)).isSymbolicLink();
  } catch (error) {
    // A missing folder is reported when the file is created in it.
    if (systemCodeOf(error) === "ENOENT") return { path, mode: undefined };
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  }
  if (isLink && !follow) {
    if (!force) throw alreadyExists(path);
    return { path, mode: undefined };
  }
  const stats = await stat(path).catch((error: unknown) => {
    // A symbolic link to nothing: it is the link that gets replaced.
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  });
  if (stats?.isDirectory()) throw usage(`${path} is a folder: name a file in it`);
  if (stats?.isFile() === false) {
    throw usage(`${path} is not a regular file: write to it with -o - and the shell's > ${path}`);
  }
  if (!force) throw alreadyExists(path);
  // The file a symbolic link leads to is replaced, not the link.
  return stats
    ? { path: await realpath(path), mode: stats.mode & 0o7777 }
    : { path, mode: undefined };
}

function alreadyExists(path: string): Failure {
  return usage(`${path} already exists: --force replaces it`);
}

/** A link, other than a rename, never replaces a file that appeared meanwhile. */
async function nameExclusively(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") throw error;
    // A file system without hard links: the name was free a moment ago.
    await rename(temporary, path);
    return;
  }
  await rm(temporary, { force: true });
}
