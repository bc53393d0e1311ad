/** What runs in the thread that creates small files, with calls that return when they are done. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { type FileSync, type WrittenFile, openFileSync } from "./sync-files.ts";

/** A file to create under its name, or to compare if there is one. */
export interface SmallFile {
  /** The name that it has until it is complete. */
  readonly temporary: string;
  readonly path: string;
  /** The permissions that it then has. */
  readonly mode: number;
  /** The modification time in milliseconds since 1970, by default now. */
  readonly time: number | undefined;
  /** Where its content ends among those of all files. */
  readonly end: number;
}

export interface SmallFileJob {
  readonly files: readonly SmallFile[];
  /** The contents of the files, one after the other. */
  readonly contents: Uint8Array<ArrayBuffer>;
  /** Make sure that each content is on the disk before its file appears. */
  readonly sync: boolean;
}

/**
 * The file was created, or had this content already. Otherwise it is left to the caller, who finds out what
 * is wrong: then nothing has changed.
 */
export type SmallFileOutcome = "created" | "existed" | "left";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

let opening: ReturnType<typeof openFileSync> | undefined;

/** Loads what the thread needs before its first job. */
export async function warmUp(): Promise<void> {
  await (opening ??= openFileSync());
}

/** @returns the outcome of each file */
export async function create(job: SmallFileJob): Promise<SmallFileOutcome[]> {
  return createSynced(job, await (opening ??= openFileSync()));
}

/** As `create`, with a function that syncs files. */
export function createSynced(
  { files, contents, sync }: SmallFileJob,
  syncFiles: FileSync,
): SmallFileOutcome[] {
  let begin = 0;
  const begun = files.map((file) => {
    const content = contents.subarray(begin, file.end);
    begin = file.end;
    return compare(file.path, content) ?? write(file, content);
  });
  const written = begun.filter((each) => typeof each === "object");
  const synced = new Set(sync ? syncFiles(written) : written);
  return files.map((file, at) => {
    const each = begun[at]!;
    if (typeof each !== "object") return each;
    return complete(file, each, synced.has(each)) ? "created" : "left";
  });
}

/** @returns undefined if there is no file that can be read */
function compare(path: string, content: Uint8Array): SmallFileOutcome | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stats = fstatSync(descriptor);
    const isLikely = stats.isFile() && stats.size === content.length;
    return isLikely && readFileSync(descriptor).equals(content) ? "existed" : "left";
  } catch {
    return "left";
  } finally {
    closeSync(descriptor);
  }
}

/** Only the owner can read it until it is complete. */
function write({ temporary }: SmallFile, content: Uint8Array): WrittenFile | "left" {
  let descriptor: number;
  try {
    descriptor = openSync(temporary, "wx", 0o600);
  } catch {
    return "left";
  }
  try {
    for (let at = 0; at < content.length;) at += writeSync(descriptor, content, at);
    return { descriptor, path: temporary };
  } catch {
    closeSync(descriptor);
    remove(temporary);
    return "left";
  }
}

/** Gives a file its name, if its content is there. */
function complete(
  { temporary, path, mode, time }: SmallFile,
  { descriptor }: WrittenFile,
  isThere: boolean,
): boolean {
  try {
    fchmodSync(descriptor, mode);
    if (time !== undefined) setTime(descriptor, time / 1000);
  } catch {
    isThere = false;
  }
  try {
    closeSync(descriptor);
    // Unlike a rename, it never replaces a file created in the meantime.
    if (isThere) linkSync(temporary, path);
    return isThere;
  } catch {
    return false;
  } finally {
    remove(temporary);
  }
}

/** Some file systems cannot store this time. The content is complete nevertheless. */
function setTime(descriptor: number, seconds: number): void {
  try {
    futimesSync(descriptor, seconds, seconds);
  } catch {}
}

/** It may have been removed by somebody else. */
function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {}
}
