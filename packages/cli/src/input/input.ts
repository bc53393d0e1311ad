import { type BigIntStats, close, constants, fstat, open, read } from "node:fs";
import { reasonOf, systemCodeOf, usage } from "../errors/failures.ts";

/** Content to store. */
export interface Input {
  /** Bytes are lent until the next piece is asked for. */
  readonly content: AsyncIterable<Uint8Array>;
  /** Undefined where it is no regular file, and so cannot be read again. */
  readonly file: FileState | undefined;
}

/** What changes when a file is written to or replaced. */
export interface FileState {
  readonly size: number;
  /** Of the last change of its content, in nanoseconds. */
  readonly mtimeNs: bigint;
  readonly inode: bigint;
}

const PIECE_LENGTH = 2 ** 20;
const STANDARD_INPUT = 0;

export interface InputOptions {
  /** What to say where it is a folder. */
  readonly folder?: string;
  /** Whether a symbolic link stands for what it leads to, as it does where people name it. */
  readonly follow?: boolean;
}

/**
 * Opens a file, or standard input for `-`, so that what cannot be read is known before anything
 * is stored.
 */
export async function openInput(
  path: string,
  { folder, follow = true }: InputOptions = {},
): Promise<Input> {
  if (path === "-") {
    return { content: pieces(STANDARD_INPUT, "standard input", undefined), file: undefined };
  }
  let file: number | undefined;
  try {
    const { O_RDONLY, O_NOFOLLOW } = constants;
    file = await opened(path, follow ? O_RDONLY : O_RDONLY | O_NOFOLLOW);
    const stats = await statsOf(file);
    if (stats.isDirectory()) {
      throw usage(
        folder ?? `${path} is a folder: name it on the command line, and all in it is stored`,
      );
    }
    const state = stats.isFile() ? stateOf(stats) : undefined;
    return { content: pieces(file, path, state), file: state };
  } catch (error) {
    if (file !== undefined) close(file);
    if (systemCodeOf(error) === "usage") throw error;
    throw usage(`cannot read ${path}: ${reasonOf(error)}`, error);
  }
}

function opened(path: string, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, flags, (error, file) => (error ? reject(error) : resolve(file)));
  });
}

function statsOf(file: number): Promise<BigIntStats> {
  return new Promise((resolve, reject) => {
    fstat(file, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(stats)));
  });
}

function stateOf({ size, mtimeNs, ino }: BigIntStats): FileState {
  return { size: Number(size), mtimeNs, inode: ino };
}

/**
 * Reads into one buffer again and again: several times as fast as a stream that makes a new one
 * for each piece, and for a pipe a third of the calls.
 */
async function* pieces(
  file: number,
  name: string,
  before: FileState | undefined,
): AsyncGenerator<Uint8Array> {
  // Not a Buffer, whose slice() is a view: whoever copies a piece with it would see the next one.
  // Of a small file, with room for one byte more, so that one that has grown shows.
  const buffer = new Uint8Array(Math.min(PIECE_LENGTH, (before?.size || PIECE_LENGTH) + 1));
  try {
    for (;;) {
      const length = await readInto(file, buffer);
      if (length === 0) {
        if (before !== undefined) assertUnchanged(before, stateOf(await statsOf(file)), name);
        return;
      }
      yield buffer.subarray(0, length);
    }
  } catch (error) {
    // Standard input that someone made non-blocking cannot be read this way when it is empty.
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

/** Said at the end of the content, before there is an address: a mix of two states is no content. */
function assertUnchanged(before: FileState, after: FileState, name: string): void {
  if (before.size === after.size && before.mtimeNs === after.mtimeNs) return;
  throw usage(
    `${name} changed while it was read, so that it has no address: try again when nothing writes ` +
      "to it, or store a copy (on standard input, any content is taken as it comes)",
  );
}

function readInto(file: number, buffer: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, buffer, 0, buffer.length, null, (error, length) =>
      error ? reject(error) : resolve(length),
    );
  });
}
