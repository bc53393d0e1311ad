import { throwIfAborted } from "../abort.ts";
import type { Stats } from "node:fs";
import { lstat, opendir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isBlobName, type ListedBlob } from "./backend.ts";
import { systemCode } from "./filesystem-errors.ts";
import { unlessMissing } from "./filesystem-files.ts";

const SHARD = /^[0-9a-f]{2}$/u;
const TEMPORARY = /^\.tmp-[0-9a-f-]{36}$/u;

/** Entries looked at together: waiting for each in turn would take most of a listing's time. */
const BATCH = 64;

/**
 * Milliseconds after which a temporary file is taken for one that a crash left behind. A writer
 * needs seconds from its last write to the rename, so an hour leaves room for a stalled disk and
 * for a file server whose clock differs. A writer robbed even so fails with an error that says to
 * try again; nothing is lost.
 */
const ABANDONED_AFTER = 60 * 60 * 1000;

/** The folder a blob lies in. */
export function shardOf(name: string): string {
  return name.slice(0, 2);
}

/** A name nobody else uses, and which is no blob's. */
export function temporaryName(): string {
  return `.tmp-${crypto.randomUUID()}`;
}

/** The folders that may hold blobs whose names begin with the prefix: at most 256. */
export async function shardsIn(root: string, prefix: string): Promise<string[]> {
  const shards: string[] = [];
  for await (const { name } of await opendir(root)) {
    if (SHARD.test(name) && name.startsWith(shardOf(prefix))) shards.push(name);
  }
  return shards;
}

/**
 * The blobs of one folder. Whatever else lies there is passed over, except that abandoned temporary
 * files are removed. Sizes and kinds come from `lstat`: only regular files count, and links are not
 * followed.
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
    const wanted = names.filter((name) => isBlobOf(shard, name) && name.startsWith(prefix));
    for (const { name, stats } of await lookAt(folder, wanted)) {
      yield { name, size: stats.size, storedAt: Math.trunc(stats.mtimeMs) };
      throwIfAborted(signal);
    }
  }
  // Only now: not every file system keeps its place in a folder that loses entries meanwhile.
  await removeAbandoned(folder, temporaries);
}

function isBlobOf(shard: string, name: string): boolean {
  return isBlobName(name) && shardOf(name) === shard;
}

/** The names in a folder, as they come. None where it vanished, or is a file and not ours. */
async function* batches(folder: string): AsyncGenerator<string[]> {
  const entries = await opendir(folder, { bufferSize: BATCH }).catch(noneIfNoFolder);
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

function noneIfNoFolder(error: unknown): undefined {
  const code = systemCode(error);
  if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
}

/** The regular files among these names that are still there. */
async function lookAt(folder: string, names: readonly string[]): Promise<Entry[]> {
  const all = await Promise.all(
    names.map(async (name) => ({ name, stats: await unlessMissing(lstat(join(folder, name))) })),
  );
  return all.filter((entry): entry is Entry => entry.stats?.isFile() === true);
}

interface Entry {
  readonly name: string;
  readonly stats: Stats;
}

async function removeAbandoned(folder: string, temporaries: readonly string[]): Promise<void> {
  const now = Date.now();
  for (const { name, stats } of await lookAt(folder, temporaries)) {
    if (now - stats.mtimeMs < ABANDONED_AFTER) continue;
    // Listing is reading: who may not write here can do so all the same.
    await unlink(join(folder, name)).catch(() => undefined);
  }
}
