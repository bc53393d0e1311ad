import { type FileHandle, link, lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure, reasonOf, systemCodeOf, usage } from "./failures.ts";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";

/** A file that appears under its name whole or not at all. */
export interface OutputFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives the file its name. Nothing of it was visible under that name before. */
  commit(): Promise<void>;
  /** Removes what was written, unless it was committed. */
  discard(): Promise<void>;
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
  options: { readonly force: boolean },
): Promise<OutputFile> {
  const target = await findTarget(path, options.force);
  const temporary = join(dirname(target.path), `.idk-${randomBytes(8).toString("hex")}.tmp`);
  const failed = (error: unknown) =>
    new Failure("output", `cannot write ${path}: ${reasonOf(error)}`, error);

  let handle: FileHandle;
  try {
    handle = await open(temporary, "wx", 0o600);
  } catch (error) {
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  }
  // Holds for whatever ends the process in an orderly way, such as a second Ctrl-C.
  const removeAtExit = () => rmSync(temporary, { force: true });
  process.on("exit", removeAtExit);

  return {
    async write(bytes) {
      try {
        for (let written = 0; written < bytes.length;) {
          written += (await handle.write(bytes, written)).bytesWritten;
        }
      } catch (error) {
        throw failed(error);
      }
    },
    async commit() {
      try {
        await handle.chmod(target.mode ?? 0o666 & ~process.umask());
        await handle.sync();
        await handle.close();
        if (options.force) await rename(temporary, target.path);
        else await nameExclusively(temporary, target.path);
      } catch (error) {
        if (systemCodeOf(error) === "EEXIST") throw alreadyExists(path);
        throw failed(error);
      }
      process.off("exit", removeAtExit);
    },
    async discard() {
      await handle.close().catch(() => {});
      await rm(temporary, { force: true }).catch(() => {});
      process.off("exit", removeAtExit);
    },
  };
}

async function findTarget(path: string, force: boolean): Promise<Target> {
  try {
    await lstat(path);
  } catch (error) {
    // A missing folder is reported when the file is created in it.
    if (systemCodeOf(error) === "ENOENT") return { path, mode: undefined };
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
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
