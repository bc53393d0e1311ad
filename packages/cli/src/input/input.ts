import { type BigIntStats, close, constants, fstatSync, open, read } from "node:fs";
import { ledElsewhere, OPEN_BENEATH } from "./beneath.ts";
import { reasonOf, systemCodeOf, usage } from "../errors/failures.ts";

/** Content to store. */
export interface Input {
  /** Pieces are borrowed: valid until the next one is requested. */
  readonly content: AsyncIterable<Uint8Array>;
  /** Undefined if it is not a regular file and so cannot be read again. */
  readonly file: FileState | undefined;
}

/** Changes when a file is written to or replaced. */
export interface FileState {
  readonly size: number;
  /** The modification time in nanoseconds. */
  readonly mtimeNs: bigint;
  readonly inode: bigint;
}

const PIECE_LENGTH = 2 ** 20;
const STANDARD_INPUT = 0;

export interface InputOptions {
  /** The error message if it is a folder. */
  readonly folder?: string;
  /**
   * For a file found in a folder, its real path when it was found. No link is followed, and it is not
   * read if the path now leads elsewhere. A path that the user named may be or contain links.
   */
  readonly real?: string | undefined;
  /** Ends the content with its reason, also if nobody ever writes to standard input or a pipe. */
  readonly signal?: AbortSignal;
}

/**
 * Opens a file, or standard input for `-`, so that a read error is found before anything is stored.
 */
export async function openInput(
  path: string,
  { folder, real, signal }: InputOptions = {},
): Promise<Input> {
  // Not around each of many files that are stored, because that takes time.
  const ending = (content: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> =>
    signal === undefined ? content : untilAborted(content, signal);
  if (path === "-") {
    const content = pieces(STANDARD_INPUT, "standard input", undefined);
    return { content: ending(content), file: undefined };
  }
  let file: number | undefined;
  try {
    const { O_RDONLY } = constants;
    file = await (real === undefined
      ? opened(path, O_RDONLY)
      : opened(OPEN_BENEATH.real ? real : path, O_RDONLY | OPEN_BENEATH.flags));
    const stats = statsOf(file);
    if (real !== undefined) {
      if (await ledElsewhere(file, stats, real)) {
        throw usage(
          `cannot read ${path}: its folder was moved or replaced by a link while its files were stored`,
        );
      }
      if (!stats.isFile()) throw usage(`cannot read ${path}: it is no longer a regular file`);
    }
    if (stats.isDirectory()) {
      throw usage(
        folder ?? `${path} is a folder: name it on the command line to store all files in it`,
      );
    }
    const regular = stats.isFile() ? stats : undefined;
    const content = ending(pieces(file, path, regular));
    return { content, file: regular && stateOf(regular) };
  } catch (error) {
    if (file !== undefined) close(file);
    if (systemCodeOf(error) === "usage") throw error;
    const link = real !== undefined && systemCodeOf(error) === "ELOOP";
    const reason = link ? "it was replaced by a symbolic link" : reasonOf(error);
    throw usage(`cannot read ${path}: ${reason}`, error);
  }
}

function opened(path: string, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, flags, (error, file) => (error ? reject(error) : resolve(file)));
  });
}

/** Without a thread: the system has this of an open file in memory, and the call takes microseconds. */
function statsOf(file: number): BigIntStats {
  return fstatSync(file, { bigint: true });
}

function stateOf({ size, mtimeNs, ino }: BigIntStats): FileState {
  return { size: Number(size), mtimeNs, inode: ino };
}

/**
 * Reads into one reused buffer, which is several times as fast as a stream with a new buffer for
 * each piece, and takes a third of the calls for a pipe.
 */
async function* pieces(
  file: number,
  name: string,
  before: BigIntStats | undefined,
): AsyncGenerator<Uint8Array> {
  // Not a Buffer, whose slice() is a view and not a copy: it would change with the next piece.
  // For a small file, one byte larger than the file, to detect that it has grown.
  const size = before && Number(before.size);
  const buffer = new Uint8Array(Math.min(PIECE_LENGTH, (size || PIECE_LENGTH) + 1));
  let total = 0;
  try {
    for (;;) {
      const length = await readInto(file, buffer);
      total += length;
      if (length > 0) yield buffer.subarray(0, length);
      // At its size, the state of the file shows whether it has grown. Files of the system, whose size
      // is 0, have content nevertheless.
      if (length > 0 && total !== size) continue;
      if (before !== undefined) assertUnchanged(before, statsOf(file), name);
      return;
    }
  } catch (error) {
    // Another process has made standard input non-blocking.
    if (file === STANDARD_INPUT && systemCodeOf(error) === "EAGAIN") {
      yield* process.stdin;
      return;
    }
    if (systemCodeOf(error) === "usage") throw error;
    throw usage(`cannot read ${name}: ${reasonOf(error)}`, error);
  } finally {
    if (file !== STANDARD_INPUT) close(file);
  }
}

/** No program can set the last of them, while some that write in place set the modification time back. */
const CHANGING = ["size", "mtimeNs", "ctimeNs"] as const;

/** Fails at the end of the content, before there is an address, instead of storing a mix of states. */
function assertUnchanged(before: BigIntStats, after: BigIntStats, name: string): void {
  if (CHANGING.every((each) => before[each] === after[each])) return;
  throw usage(
    `${name} changed while it was read and was not stored (or it was renamed or linked, which looks the ` +
      "same): try again when nothing writes to it, " +
      "or store a copy (standard input is not checked for changes)",
  );
}

function readInto(file: number, buffer: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, buffer, 0, buffer.length, null, (error, length) =>
      error ? reject(error) : resolve(length),
    );
  });
}

/** The content, or the signal's reason as its error as soon as the signal fires. */
async function* untilAborted(
  content: AsyncGenerator<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {});
  const stop = (): void => reject(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await Promise.race([content.next(), aborted]);
      if (done === true) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Not awaited: a read that is in progress may never end.
    content.return(undefined).catch(() => {});
  }
}
