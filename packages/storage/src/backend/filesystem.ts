import { type FileHandle, lstat, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { throwIfAborted } from "../abort.ts";
import { StorageError, usage } from "../errors.ts";
import {
  type Backend,
  isBlobName,
  type ListedBlob,
  type Marker,
  MARKERS,
  requireLimit,
  requireMarkerName,
} from "./backend.ts";
import { noDirectory, notAFile, systemCode, systemError } from "./filesystem/errors.ts";
import {
  createFolders,
  FILE_MODE,
  fillFile,
  FOLDER_MODE,
  readFileInto,
  syncFile,
  syncFolder,
  unlessMissing,
} from "./filesystem/files.ts";
import { blobsIn, markersIn, shardOf, shardsIn, temporaryName } from "./filesystem/listing.ts";

/** Options of `filesystem`. */
export interface FilesystemOptions {
  /**
   * What a resolved `put` or `delete` survives.
   *
   * - `full`, the default: a power failure or system crash. Each call syncs the file and the folder
   *   entries to the disk (`fsync`).
   * - `none`: only the end of this process. The system writes to the disk at its own pace; after a
   *   power failure or system crash, blobs may be missing, empty or truncated, in any order, even
   *   if the root above them exists, and deleted blobs may reappear. Damage is detected when a blob
   *   is read. For reproducible data and for tests.
   */
  readonly durability?: Durability | undefined;
}

/** What a resolved `put` or `delete` survives; see `FilesystemOptions`. */
export type Durability = "full" | "none";

/**
 * Keeps each blob in a file, `<directory>/<first two digits>/<name>`. The first `put` creates the
 * directory, or `currentTime` with `create`; all other calls fail with `unavailable` if it does not
 * exist, so that a mistyped path is not mistaken for an empty store. Folders get mode 0700 and files
 * 0600.
 *
 * Markers are empty files, `<directory>/heads/<chain>/<rest of the name>`.
 *
 * A blob is a regular file. The directory and the folders in it may be symbolic links, for example
 * to another disk; a symbolic link or any other non-file in place of a blob is rejected.
 *
 * @param directory relative to the current working directory at the time of the call
 * @throws StorageError `usage` if the directory is empty or an option is invalid
 */
export function filesystem(directory: string, options: FilesystemOptions = {}): Backend {
  if (directory === "") throw usage("the folder of a filesystem backend must not be empty");
  const root = resolve(directory);
  const { durability = "full" } = options;
  if (durability !== "full" && durability !== "none") {
    throw usage('durability must be "full" or "none"');
  }
  const fsync = durability === "full";
  /** Folders whose own entry in the folder above this process has synced. */
  const synced = new Set<string>();
  let creatingRoot: Promise<void> | undefined;

  /** One promise for all writers: none may continue before the root's own entry is synced. */
  const createRoot = (): Promise<void> =>
    (creatingRoot ??= createFolders(root, fsync).finally(() => {
      creatingRoot = undefined;
    }));

  /** Creates a folder below the root, and those above it; the root itself only if it may. */
  const createFolder = async (folder: string, createsRoot: boolean): Promise<void> => {
    if (folder === root) return createsRoot ? createRoot() : requireRoot();
    await createFolder(dirname(folder), createsRoot);
    synced.delete(folder);
    try {
      await mkdir(folder, { mode: FOLDER_MODE });
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  };

  /** Creates the folder only if opening fails, because it nearly always exists. */
  const create = async (
    folder: string,
    path: string,
    createsRoot: boolean,
  ): Promise<FileHandle> => {
    const handle = await unlessMissing(open(path, "wx", FILE_MODE));
    if (handle !== undefined) return handle;
    await createFolder(folder, createsRoot);
    return open(path, "wx", FILE_MODE);
  };

  /**
   * Syncs a folder's entries, and once also the folder's own entry and those above it up to the root,
   * even if another process created the folder, because that process may not have synced it yet.
   */
  const syncEntries = async (folder: string): Promise<void> => {
    await syncFolder(folder);
    for (let at = folder; at !== root; at = dirname(at)) {
      if (synced.has(at)) continue;
      await syncFolder(dirname(at));
      synced.add(at);
    }
  };

  /** Distinguishes a missing blob from a missing directory. */
  const requireRoot = async (): Promise<void> => {
    await stat(root).catch((error: unknown) => {
      throw systemCode(error) === "ENOENT" ? noDirectory(root, error) : error;
    });
  };

  const read = async (
    name: string,
    buffer: Uint8Array,
    signal: AbortSignal | undefined,
    offset?: number,
  ): Promise<number> => {
    throwIfAborted(signal);
    const { path } = locate(root, name);
    try {
      const length = await readFileInto(path, buffer, signal, offset);
      if (length !== undefined) return length;
      await requireRoot();
    } catch (error) {
      throw systemError(error, `read the blob ${path}`);
    }
    throw new StorageError("not-found", `the folder ${root} has no blob ${name}`);
  };

  const remove = async (folder: string, path: string, action: string): Promise<void> => {
    try {
      const removed = await unlessMissing(unlink(path).then(() => true));
      // Whoever removed it may not have synced that yet, and never do so.
      if (fsync) await unlessMissing(syncFolder(folder));
      if (!removed) await requireRoot();
    } catch (error) {
      throw systemError(error, action);
    }
  };

  return {
    description: `filesystem ${directory}`,
    local: true,

    async put(name, bytes, { signal } = {}) {
      throwIfAborted(signal);
      const { folder, path } = locate(root, name);
      const temporary = join(folder, temporaryName());
      try {
        const handle = await create(folder, temporary, true);
        try {
          await fillFile(handle, bytes, fsync, signal);
          throwIfAborted(signal);
          await rename(temporary, path);
        } catch (error) {
          // The first error is the one to report. If this fails too, a listing cleans up later.
          await unlink(temporary).catch(() => undefined);
          throw error;
        }
        // Readers see the blob from here on, so the call is no longer aborted.
        if (fsync) await syncEntries(folder);
      } catch (error) {
        throw systemError(error, `store the blob ${path}`);
      }
    },

    get: (name, buffer, { signal } = {}) => read(name, buffer, signal),

    getRange: (name, offset, buffer, { signal } = {}) => read(name, buffer, signal, offset),

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
        throw systemError(error, `stat the blob ${path}`);
      }
    },

    async delete(name, { signal } = {}) {
      throwIfAborted(signal);
      const { folder, path } = locate(root, name);
      await remove(folder, path, `delete the blob ${path}`);
    },

    async *list(prefix, { signal } = {}): AsyncGenerator<ListedBlob> {
      throwIfAborted(signal);
      try {
        await requireRoot();
        for (const shard of await shardsIn(root, prefix))
          yield* blobsIn(join(root, shard), shard, prefix, signal);
      } catch (error) {
        throw systemError(error, `list the folder ${root}`);
      }
    },

    async putMarker(name, { signal } = {}) {
      throwIfAborted(signal);
      const { folder, path } = locateMarker(root, name);
      try {
        try {
          // Empty, so there is nothing to write, and it appears as a whole.
          await fillFile(await create(folder, path, false), new Uint8Array(0), fsync, undefined);
        } catch (error) {
          if (systemCode(error) !== "EEXIST") throw error;
          await syncFile(path);
        }
        if (fsync) await syncEntries(folder);
      } catch (error) {
        throw systemError(error, `store the marker ${path}`);
      }
    },

    async *listMarkers(prefix, { signal, after = "", limit } = {}): AsyncGenerator<Marker> {
      requireLimit(limit);
      throwIfAborted(signal);
      let left = limit ?? Infinity;
      try {
        await requireRoot();
        for await (const marker of markersIn(join(root, MARKERS), prefix, after, left, signal)) {
          yield marker;
          left -= 1;
          if (left === 0) return;
        }
      } catch (error) {
        throw systemError(error, `list the markers in ${root}`);
      }
    },

    async deleteMarker(name, { signal } = {}) {
      throwIfAborted(signal);
      const { folder, path } = locateMarker(root, name);
      await remove(folder, path, `delete the marker ${path}`);
    },

    async currentTime({ signal, create: createsRoot = false } = {}) {
      throwIfAborted(signal);
      const path = join(root, MARKERS, temporaryName());
      try {
        const handle = await create(dirname(path), path, createsRoot);
        try {
          // Written and synced, because a file server may leave the time of an empty file to this
          // machine.
          await handle.write(Uint8Array.of(0));
          await handle.sync();
          return Math.trunc((await handle.stat()).mtimeMs);
        } finally {
          await handle.close();
          await unlink(path).catch(() => undefined);
        }
      } catch (error) {
        throw systemError(error, `find out the time of the folder ${root}`);
      }
    },
  };
}

/** Checks the name, which must never lead out of the directory. */
function locate(root: string, name: string): { folder: string; path: string } {
  if (!isBlobName(name)) throw usage("a blob's name must be 64 lowercase hexadecimal digits");
  const folder = join(root, shardOf(name));
  return { folder, path: join(folder, name) };
}

function locateMarker(root: string, name: string): { folder: string; path: string } {
  requireMarkerName(name);
  const path = join(root, MARKERS, name);
  return { folder: dirname(path), path };
}
