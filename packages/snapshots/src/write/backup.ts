import type { BackupOptions, BackupStatus, BackupSummary } from "./options.ts";
import { CacheInUse, type Cache, openCache, setCacheAside } from "../cache/cache.ts";
import { StorageError } from "@idk/storage";
import { UnusableCache, sqliteCode } from "../cache/database.ts";
import { decodeState } from "./session/state.ts";
import { dirname } from "node:path";
import { faultOfChainName } from "../format/names/chain.ts";
import { mkdirSync } from "node:fs";
import type { Repository } from "../repository/repository.ts";
import { runBackup } from "./run-backup.ts";

/**
 * Backs up folders as a snapshot. Of the store it needs the rights to put and to list, and no key that
 * reads; the repository has to be open with a writer. Files that cannot be read are reported and left
 * out, and the snapshot is made all the same, unless none of the paths can be read.
 *
 * @throws StorageError `usage` if options are wrong, the clock of this host is more than an hour off, or
 *   another backup has the cache; `key` if a recipient is malformed; `rollback` if the store does not
 *   list what this machine sent; `unavailable` if none of the paths could be read, or the backup took too
 *   long to be safe; `aborted`; what the backend throws. Nothing that was stored before is harmed, and the
 *   next backup goes on.
 */
export async function backup(
  repository: Repository,
  options: BackupOptions,
): Promise<BackupSummary> {
  checkOptions(repository, options);
  return withCache(options.cache, (cache) => runBackup(repository, options, cache));
}

/**
 * Finds out what a backup would store now, by a dry run, and how earlier ones ended, by the cache.
 *
 * @throws StorageError as `backup`
 */
export async function backupStatus(
  repository: Repository,
  options: BackupOptions,
): Promise<BackupStatus> {
  checkOptions(repository, options);
  return withCache(options.cache, async (cache) => {
    const pending = await runBackup(repository, { ...options, dryRun: true }, cache);
    const last = cache.committed && decodeState(cache.committed);
    let [packs, since] = [0, Infinity];
    for (const pack of cache.packs()) {
      if (pack.isCommitted) continue;
      packs += 1;
      since = Math.min(since, pack.stored);
    }
    return {
      pending,
      last: last && { address: last.marker.address, storedAt: last.sentAt },
      unfinished: packs === 0 ? undefined : { packs, since },
    };
  });
}

/** A head is one blob of at most 2^20 bytes, and is written last. */
const TEXT_MAX = 2 ** 16;

function checkOptions(repository: Repository, options: BackupOptions): void {
  const { name, paths, cache, message = "", tags = [], expectedSeconds = 0 } = options;
  const usage = (text: string) => new StorageError("usage", text);
  if (repository.writer === undefined) throw usage("a backup needs a writer key to sign with");
  const fault = faultOfChainName(name);
  if (fault !== undefined) throw usage(`the name ${JSON.stringify(name)} cannot be used: ${fault}`);
  if (paths.length === 0) throw usage("there is no path to back up");
  if (cache === "") throw usage("a backup needs the path of a cache");
  for (const [what, text] of [
    ["the message", message],
    ["the tags", tags.join("")],
  ] as const) {
    if (!text.isWellFormed() || Buffer.byteLength(text) + 9 * tags.length > TEXT_MAX) {
      throw usage(`${what} must be well-formed text of at most ${TEXT_MAX} bytes`);
    }
  }
  if (!Number.isSafeInteger(expectedSeconds) || expectedSeconds < 0) {
    throw usage("the seconds to the next backup must be an integer, 0 or more");
  }
}

async function withCache<T>(path: string, use: (cache: Cache) => Promise<T>): Promise<T> {
  const cache = await open(path);
  let failure: unknown;
  try {
    return await use(cache);
  } catch (error) {
    failure = error;
  } finally {
    cache.close();
  }
  if (sqliteCode(failure) !== undefined) throw cannotUse(path, failure);
  if (!(failure instanceof UnusableCache)) throw failure;
  const text = `the cache cannot be used any more: ${failure.message}; ${setCacheAside(path)}. Back up again: everything is stored anew then`;
  throw new StorageError("unavailable", text, { cause: failure });
}

async function open(path: string): Promise<Cache> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return await openCache(path);
  } catch (cause) {
    if (cause instanceof CacheInUse) throw new StorageError("usage", cause.message, { cause });
    throw cannotUse(path, cause);
  }
}

function cannotUse(path: string, cause: unknown): StorageError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new StorageError("unavailable", `cannot use the cache ${path}: ${why}`, { cause });
}
