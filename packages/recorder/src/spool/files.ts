import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The files of a spool, which several processes may share:
 *
 * - `<run>-<segment>-<part>-<address>.blob`, a sealed blob. A segment is one blob, or the chunks of a
 *   tree and then its root. By name, the blobs of a run are in the order in which they are uploaded.
 * - `<run>.totals`, the counts of a run that has not been closed; see `RunState`.
 *
 * Files get their names when they are complete. They are not synced: what a power failure damages is
 * recognized by its address.
 */

export const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

const BLOB = /^([0-9a-f]{32})-(\d{10})-(\d{5})-([0-9a-f]{64})\.blob$/u;
const PARTIAL = /^([0-9a-f]{32})[-.].*\.partial$/u;
const TOTALS = /^([0-9a-f]{32})\.totals$/u;

/** A blob in the spool. */
export interface SpooledBlob {
  readonly run: string;
  /** The number of its segment. */
  readonly segment: number;
  /** The file's name. */
  readonly file: string;
  readonly address: string;
  readonly size: number;
}

/** What is in a spool. */
export interface SpoolListing {
  /** In the order of their names. */
  readonly blobs: readonly SpooledBlob[];
  /** Runs that have not been closed. */
  readonly openRuns: ReadonlySet<string>;
  /** Files that are being written, or were when their process ended. */
  readonly partials: readonly { readonly run: string; readonly file: string }[];
}

export function blobFile(run: string, segment: number, part: number, address: string): string {
  const numbers = `${String(segment).padStart(10, "0")}-${String(part).padStart(5, "0")}`;
  return `${run}-${numbers}-${address}.blob`;
}

export function totalsFile(run: string): string {
  return `${run}.totals`;
}

/** Writes a file as a whole, and the folder if it is missing. */
export async function writeWhole(folder: string, file: string, bytes: Uint8Array): Promise<void> {
  const path = join(folder, file);
  const partial = `${path}.partial`;
  const write = (): Promise<void> => writeFile(partial, bytes, { mode: FILE_MODE });
  try {
    try {
      await write();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
      await write();
    }
    await rename(partial, path);
  } catch (error) {
    // A full disk keeps the part that fitted.
    await rm(partial, { force: true }).catch(() => {});
    throw error;
  }
}

/** Whatever else is in the folder is not listed; a folder that does not exist is empty. */
export async function listSpool(folder: string): Promise<SpoolListing> {
  const blobs: SpooledBlob[] = [];
  const openRuns = new Set<string>();
  const partials: { run: string; file: string }[] = [];
  const files = await unlessMissing(readdir(folder));
  for (const file of (files ?? []).toSorted()) {
    const [, run, segment, , address] = BLOB.exec(file) ?? [];
    const [, openRun] = TOTALS.exec(file) ?? [];
    const [, partialRun] = PARTIAL.exec(file) ?? [];
    if (openRun !== undefined) openRuns.add(openRun);
    if (partialRun !== undefined) partials.push({ run: partialRun, file });
    if (run === undefined || address === undefined) continue;
    // Another process may upload it meanwhile.
    const stats = await unlessMissing(stat(join(folder, file)));
    if (stats?.isFile()) {
      blobs.push({ run, segment: Number(segment), file, address, size: stats.size });
    }
  }
  return { blobs, openRuns, partials };
}

/** The file's bytes, or undefined if there is no such file. */
export async function readWhole(
  folder: string,
  file: string,
): Promise<Buffer<ArrayBuffer> | undefined> {
  return unlessMissing(readFile(join(folder, file)));
}

/** Deletes a file, if it is there. */
export async function deleteFile(folder: string, file: string): Promise<void> {
  await rm(join(folder, file), { force: true });
}

async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
