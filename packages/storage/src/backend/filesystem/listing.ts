import type { Stats } from "node:fs";
import { lstat, opendir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { throwIfAborted } from "../../abort.ts";
import { isBlobName, isMarkerName, type ListedBlob, type Marker } from "../backend.ts";
import { systemCode } from "./errors.ts";
import { unlessMissing } from "./files.ts";

const SHARD = /^[0-9a-f]{2}$/u;
const TEMPORARY = /^\.tmp-[0-9a-f-]{36}$/u;

/** Entries that are stat'ed concurrently; one at a time would take most of a listing's time. */
const BATCH = 64;

/**
 * The age in milliseconds at which a temporary file counts as left behind by a crash. A writer needs
 * seconds from its last write to the rename, so an hour leaves room for a stalled disk and for a
 * file server whose clock differs. If the file of a live writer is deleted even so, that write
 * fails with a transient error; nothing is lost.
 */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** The folder that contains a blob, below the root. */
export function shardOf(name: string): string {
  return name.slice(0, 2);
}

/** A unique name that no blob can have. */
export function temporaryName(): string {
  return `.tmp-${crypto.randomUUID()}`;
}

/** The folders that may contain blobs whose names start with the prefix: at most 256. */
export async function shardsIn(root: string, prefix: string): Promise<string[]> {
  const shards: string[] = [];
  for await (const { name } of await opendir(root)) {
    if (SHARD.test(name) && name.startsWith(shardOf(prefix))) shards.push(name);
  }
  return shards;
}

/**
 * The blobs in one folder. Only regular files count, by `lstat`: symbolic links are not followed.
 * Other entries are skipped, but abandoned temporary files are deleted.
 */
export async function* blobsIn(
  folder: string,
  shard: string,
  prefix: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedBlob> {
  const temporaries: string[] = [];
  for await (const names of batches(folder)) {
    throwIfAborted(signal);
    temporaries.push(...names.filter((name) => TEMPORARY.test(name)));
    const blobs = names.filter((name) => isBlobOf(shard, name) && name.startsWith(prefix));
    for (const { name, stats } of await statFiles(folder, blobs)) {
      yield { name, size: stats.size, storedAt: Math.trunc(stats.mtimeMs) };
      throwIfAborted(signal);
    }
  }
  // At the end, because deleting entries can disturb an open listing on some file systems.
  await deleteAbandoned(folder, temporaries);
}

const CHAIN = /^[0-9a-f]{32}$/u;

/** Of a folder's names, how many are held to put them in order: at most about a megabyte. */
const SORTED = 8192;

/**
 * The markers in the folder of markers, in order of names. Only regular files count; other entries
 * are skipped, but abandoned temporary files are deleted.
 *
 * @param after yields only names greater than this one
 * @param expected how many the caller is likely to take
 */
export async function* markersIn(
  folder: string,
  prefix: string,
  after: string,
  expected: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Marker> {
  const count = Math.min(Math.max(expected, BATCH), SORTED);
  const mayHold = (chain: string): boolean =>
    CHAIN.test(chain) &&
    `${chain}/`.startsWith(prefix.slice(0, chain.length + 1)) &&
    `${chain}/` >= after.slice(0, chain.length + 1);
  for await (const chains of inOrder(folder, mayHold, count, signal)) {
    for (const chain of chains) {
      const isOurs = (file: string): boolean => {
        const name = `${chain}/${file}`;
        return isMarkerName(name) && name.startsWith(prefix) && name > after;
      };
      for await (const files of inOrder(join(folder, chain), isOurs, count, signal)) {
        for (const { name, stats } of await statFiles(join(folder, chain), files)) {
          yield { name: `${chain}/${name}`, storedAt: Math.trunc(stats.mtimeMs) };
          throwIfAborted(signal);
        }
      }
    }
  }
  const isTemporary = (name: string): boolean => TEMPORARY.test(name);
  await deleteAbandoned(folder, await firstNames(folder, isTemporary, SORTED, signal));
}

/**
 * The matching names in a folder, in order, a few at a time. The folder has no order and may be
 * larger than memory, so it is read again for each `count` of its names.
 */
async function* inOrder(
  folder: string,
  matches: (name: string) => boolean,
  count: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string[]> {
  let last = "";
  for (;;) {
    const names = await firstNames(folder, (name) => name > last && matches(name), count, signal);
    for (let from = 0; from < names.length; from += BATCH) yield names.slice(from, from + BATCH);
    if (names.length < count) return;
    last = names.at(-1)!;
  }
}

/** The first matching names of a folder in their order. */
async function firstNames(
  folder: string,
  matches: (name: string) => boolean,
  count: number,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  let first: string[] = [];
  /** Once there are enough, names beyond this one are not among the first. */
  let bound: string | undefined;
  for await (const names of batches(folder)) {
    throwIfAborted(signal);
    first.push(...names.filter((name) => (bound === undefined || name < bound) && matches(name)));
    if (first.length < 2 * count) continue;
    first = first.toSorted().slice(0, count);
    bound = first.at(-1);
  }
  return first.toSorted().slice(0, count);
}

function isBlobOf(shard: string, name: string): boolean {
  return isBlobName(name) && shardOf(name) === shard;
}

/** The names in a folder, in any order. None if it was deleted, or if it is a file. */
async function* batches(folder: string): AsyncGenerator<string[]> {
  const entries = await opendir(folder, { bufferSize: BATCH }).catch(undefinedIfNoFolder);
  if (entries === undefined) return;
  let names: string[] = [];
  for await (const { name } of entries) {
    names.push(name);
    if (names.length < BATCH) continue;
    yield names;
    names = [];
  }
  yield names;
}

function undefinedIfNoFolder(error: unknown): undefined {
  const code = systemCode(error);
  if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
}

/** Those of the names that are regular files and still exist. */
async function statFiles(folder: string, names: readonly string[]): Promise<Entry[]> {
  const all = await Promise.all(
    names.map(async (name) => ({ name, stats: await unlessMissing(lstat(join(folder, name))) })),
  );
  return all.filter((entry): entry is Entry => entry.stats?.isFile() === true);
}

interface Entry {
  readonly name: string;
  readonly stats: Stats;
}

async function deleteAbandoned(folder: string, temporaries: readonly string[]): Promise<void> {
  const now = Date.now();
  for (const { name, stats } of await statFiles(folder, temporaries)) {
    if (now - stats.mtimeMs < ABANDONED_AFTER_MS) continue;
    // A listing must succeed without write permission, so failures are ignored.
    await unlink(join(folder, name)).catch(() => undefined);
  }
}
