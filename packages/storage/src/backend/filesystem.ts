import { throwIfAborted } from "../abort.ts";
import { type FileHandle, lstat, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Backend, isBlobName, type ListedBlob } from "./backend.ts";
import { failure, noDirectory, notAFile, systemCode } from "./filesystem-errors.ts";
import {
  FILE_MODE,
  fillFile,
  FOLDER_MODE,
  makeFolders,
  readFileInto,
  syncFolder,
  unlessMissing,
} from "./filesystem-files.ts";
import { blobsIn, shardOf, shardsIn, temporaryName } from "./filesystem-listing.ts";
import { StorageError, usage } from "../errors.ts";

export interface FilesystemOptions {
  /**
   * What a `put` or `delete` that has resolved outlives.
   *
   * - `full`, the default: a power cut and a crash of the system. Each waits until the disk has the
   *   bytes of the file and the names in its folders (`fsync`).
   * - `none`: the end of this process, however it comes, and nothing more. The system writes to the
   *   disk when it likes. After a power cut or a crash of the system blobs may be missing, empty or
   *   cut short, in any order, also below a root that is there, and deleted ones may be back. What
   *   is damaged is found when it is read. For what can be made again, and for tests.
   */
  readonly durability?: Durability | undefined;
}

export type Durability = "full" | "none";

/**
 * Keeps each blob in a file, `<directory>/<first two digits>/<name>`. The first `put` creates the
 * directory; all other calls fail with `unavailable` where it does not exist, so that a mistyped
 * path is not taken for an empty store. Folders get mode 0700 and files 0600.
 *
 * A blob is a regular file. The directory and the folders in it may be symbolic links, to another
 * disk for example; a link in a blob's place is refused, as is anything else that is no file.
 *
 * @param directory relative to the working directory of this moment
 * @throws StorageError `usage` where the directory is the empty text, or an option is wrong
 */
export function filesystem(directory: string, options: FilesystemOptions = {}): Backend {
  if (directory === "") throw usage("the directory of a filesystem backend must not be empty");
  const root = resolve(directory);
  const { durability = "full" } = options;
  if (durability !== "full" && durability !== "none") {
    throw usage('durability must be "full" or "none"');
  }
  const fsync = durability === "full";
  /** Folders whose own entry in the root this process has brought to the disk. */
  const settled = new Set<string>();
  let makingRoot: Promise<void> | undefined;

  const makeShard = async (folder: string): Promise<void> => {
    settled.delete(folder);
    // One promise for all writers: none may go on before the root's own entry is on the disk.
    makingRoot ??= makeFolders(root, fsync).finally(() => {
      makingRoot = undefined;
    });
    await makingRoot;
    try {
      await mkdir(folder, { mode: FOLDER_MODE });
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  };

  /** Makes the folder only where opening fails: nearly always it is there. */
  const create = async (folder: string, path: string): Promise<FileHandle> => {
    const handle = await unlessMissing(open(path, "wx", FILE_MODE));
    if (handle !== undefined) return handle;
    await makeShard(folder);
    return open(path, "wx", FILE_MODE);
  };

  /**
   * Brings the names in a folder to the disk; the first time also the folder's own name, whoever
   * made it, since its maker may not have come so far yet.
   */
  const settle = async (folder: string): Promise<void> => {
    await syncFolder(folder);
    if (settled.has(folder)) return;
    await syncFolder(root);
    settled.add(folder);
  };

  /** Tells a missing blob from a missing store. */
  const requireRoot = async (): Promise<void> => {
    await stat(root).catch((error: unknown) => {
      throw systemCode(error) === "ENOENT" ? noDirectory(root, error) : error;
    });
  };

  const read = async (
    name: string,
    buffer: Uint8Array,
    signal: AbortSignal | undefined,
    prefixOnly: boolean,
  ): Promise<number> => {
    throwIfAborted(signal);
    const { path } = locate(root, name);
    try {
      const length = await readFileInto(path, buffer, signal, { prefixOnly });
      if (length !== undefined) return length;
      await requireRoot();
    } catch (error) {
      throw failure(error, `read the blob ${path}`);
    }
    throw new StorageError("not-found", `the directory ${root} holds no blob ${name}`);
  };

  return {
    description: `filesystem ${directory}`,
    local: true,

    async put(name, bytes, { signal } = {}) {
      throwIfAborted(signal);
      const { folder, path } = locate(root, name);
      const temporary = join(folder, temporaryName());
      try {
        const handle = await create(folder, temporary);
        try {
          await fillFile(handle, bytes, fsync, signal);
          throwIfAborted(signal);
          await rename(temporary, path);
        } catch (error) {
          // The first failure is the one to report. If this one fails too, listing cleans up.
          await unlink(temporary).catch(() => undefined);
          throw error;
        }
        // Readers see the blob from here on, so the call is finished rather than aborted.
        if (fsync) await settle(folder);
      } catch (error) {
        throw failure(error, `store the blob ${path}`);
      }
    },

    get: (name, buffer, { signal } = {}) => read(name, buffer, signal, false),

    getPrefix: (name, buffer, { signal } = {}) => read(name, buffer, signal, true),

    async head(name, { signal } = {}) {
      throwIfAborted(signal);
      const { path } = locate(root, name);
      try {
        const stats = await unlessMissing(lstat(path));
        if (stats?.isFile()) return { size: stats.size, storedAt: Math.trunc(stats.mtimeMs) };
        if (stats !== undefined) throw notAFile(path);
        await requireRoot();
        return undefined;
      } catch (error) {
        throw failure(error, `look at the blob ${path}`);
      }
    },

    async delete(name, { signal } = {}) {
      throwIfAborted(signal);
      const { folder, path } = locate(root, name);
      try {
        const removed = await unlessMissing(unlink(path).then(() => true));
        if (!removed) await requireRoot();
        else if (fsync) await syncFolder(folder);
      } catch (error) {
        throw failure(error, `delete the blob ${path}`);
      }
    },

    async *list(prefix, { signal } = {}): AsyncGenerator<ListedBlob> {
      throwIfAborted(signal);
      try {
        await requireRoot();
        for (const shard of await shardsIn(root, prefix))
          yield* blobsIn(join(root, shard), shard, prefix, signal);
      } catch (error) {
        throw failure(error, `list the directory ${root}`);
      }
    },
  };
}

/** A name from elsewhere must never lead out of the directory. */
function locate(root: string, name: string): { folder: string; path: string } {
  if (!isBlobName(name)) throw usage("a blob's name is 64 lowercase hexadecimal digits");
  const folder = join(root, shardOf(name));
  return { folder, path: join(folder, name) };
}
