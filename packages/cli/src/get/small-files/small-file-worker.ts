/** What runs in the thread that creates small files, with calls that return when they are done. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { type SyncFiles, type WrittenFile, loadSyncFiles } from "./sync-files.ts";

/** A file to create under its name, or to compare if there is one. */
export interface SmallFile {
  /** The name that it has until it is complete. */
  readonly temporary: string;
  readonly path: string;
  /** The permissions that it then has. */
  readonly mode: number;
  /** The modification time, by default now. A number would not be exact. */
  readonly time: Date | undefined;
  /** Where its content ends among those of all files. */
  readonly end: number;
}

export interface SmallFileJob {
  readonly files: readonly SmallFile[];
  /** The contents of the files, one after the other. */
  readonly contents: Uint8Array<ArrayBuffer>;
  /** Make sure that each content is on the disk before its file appears. */
  readonly sync: boolean;
  /** Shared with the caller, who sets the first element if no more files are to be begun. */
  readonly stop: Int32Array<SharedArrayBuffer>;
}

/**
 * The file was created, or had this content already. Otherwise it is left to the caller, who finds out what
 * is wrong: then nothing has changed.
 */
export type SmallFileOutcome = "created" | "existed" | "left";

/** Files that are written, synced and named together: each is open meanwhile. */
const TOGETHER = 64;

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

let loading: ReturnType<typeof loadSyncFiles> | undefined;

/** Loads what the thread needs before its first job. */
export async function warmUp(): Promise<void> {
  await (loading ??= loadSyncFiles());
}

/** @returns the outcome of each file */
export async function create(job: SmallFileJob): Promise<SmallFileOutcome[]> {
  return createSynced(job, await (loading ??= loadSyncFiles()));
}

/** As `create`, with a function that syncs files, and one that makes hard links. */
export function createSynced(
  { files, contents, sync, stop }: SmallFileJob,
  syncFiles: SyncFiles,
  link: typeof linkSync = linkSync,
): SmallFileOutcome[] {
  let begin = 0;
  const outcomes: SmallFileOutcome[] = [];
  for (let first = 0; first < files.length; first += TOGETHER) {
    const some = files.slice(first, first + TOGETHER);
    const begun = some.map((file) => {
      const content = contents.subarray(begin, file.end);
      begin = file.end;
      const isStopped = (): boolean => Atomics.load(stop, 0) !== 0;
      if (isStopped()) return "left";
      return compare(file.path, content) ?? write(file, content, isStopped);
    });
    const written = begun.filter((each) => typeof each === "object");
    const complete = new Set(sync ? syncFiles(written) : written);
    for (const [at, file] of some.entries()) {
      const each = begun[at]!;
      if (typeof each !== "object") outcomes.push(each);
      else outcomes.push(finish(file, each, complete.has(each), link) ? "created" : "left");
    }
  }
  return outcomes;
}

/** @returns undefined if nothing has this name */
function compare(path: string, content: Uint8Array): SmallFileOutcome | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    return isCode(error, "ENOENT") ? undefined : "left";
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size !== content.length) return "left";
    const existing = Buffer.alloc(content.length);
    for (let at = 0; at < content.length;) {
      const length = readSync(descriptor, existing, at, content.length - at, at);
      if (length === 0) return "left";
      at += length;
    }
    return existing.equals(content) ? "existed" : "left";
  } catch {
    return "left";
  } finally {
    succeeds(() => closeSync(descriptor));
  }
}

/** Only the owner can read it until it is complete. */
function write(
  { temporary }: SmallFile,
  content: Uint8Array,
  isStopped: () => boolean,
): WrittenFile | "left" {
  let descriptor: number;
  try {
    descriptor = openSync(temporary, "wx", 0o600);
  } catch {
    return "left";
  }
  const isWritten = succeeds(() => {
    for (let at = 0; at < content.length;) at += writeSync(descriptor, content, at);
  });
  // After a stop, the caller may have looked for it already.
  if (isWritten && !isStopped()) return { descriptor };
  succeeds(() => closeSync(descriptor));
  succeeds(() => unlinkSync(temporary));
  return "left";
}

/** Gives a file its name, if it is complete, or else removes it. */
function finish(
  { temporary, path, mode, time }: SmallFile,
  { descriptor }: WrittenFile,
  isComplete: boolean,
  link: typeof linkSync,
): boolean {
  const hasMode = succeeds(() => fchmodSync(descriptor, mode));
  // Some file systems cannot store this time. The content is complete nevertheless.
  if (time !== undefined) succeeds(() => futimesSync(descriptor, time, time));
  const isClosed = succeeds(() => closeSync(descriptor));
  const isNamed = isComplete && hasMode && isClosed && succeeds(() => name(temporary, path, link));
  succeeds(() => unlinkSync(temporary));
  return isNamed;
}

/** Unlike a rename, a link never replaces a file created in the meantime. */
function name(temporary: string, path: string, link: typeof linkSync): void {
  try {
    link(temporary, path);
  } catch (error) {
    if (isCode(error, "EEXIST")) throw error;
    // A file system without hard links. The name was free a moment ago.
    renameSync(temporary, path);
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Ignores the error: the caller tries again itself, and reports the error if it occurs again. */
function succeeds(call: () => void): boolean {
  try {
    call();
    return true;
  } catch {
    return false;
  }
}
