import { close, fstat, open, read } from "node:fs";
import { reasonOf, systemCodeOf, usage } from "./failures.ts";
import { promisify } from "node:util";

/** Content to store. Bytes are lent until the next piece is asked for. */
export type Input = AsyncIterable<Uint8Array>;

const PIECE_LENGTH = 2 ** 20;
const STANDARD_INPUT = 0;

/**
 * Opens a file, or standard input for `-`, so that what cannot be read is known before anything
 * is stored.
 */
export async function openInput(path: string): Promise<Input> {
  if (path === "-") return pieces(STANDARD_INPUT, "standard input");
  let file: number | undefined;
  try {
    file = await promisify(open)(path, "r");
    const stats = await promisify(fstat)(file);
    if (stats.isDirectory()) {
      throw usage(
        `${path} is a folder and put stores one file: pack it first, such as tar -c ${path} | idk put -`,
      );
    }
  } catch (error) {
    if (file !== undefined) await promisify(close)(file);
    if (systemCodeOf(error) === "usage") throw error;
    throw usage(`cannot read ${path}: ${reasonOf(error)}`, error);
  }
  return pieces(file, path);
}

/**
 * Reads into one buffer again and again: several times as fast as a stream that makes a new one
 * for each piece, and for a pipe a third of the calls.
 */
async function* pieces(file: number, name: string): AsyncGenerator<Uint8Array> {
  // Not a Buffer, whose slice() is a view: whoever copies a piece with it would see the next one.
  const buffer = new Uint8Array(PIECE_LENGTH);
  try {
    for (;;) {
      const length = await readInto(file, buffer);
      if (length === 0) return;
      yield buffer.subarray(0, length);
    }
  } catch (error) {
    // Standard input that someone made non-blocking cannot be read this way when it is empty.
    if (file === STANDARD_INPUT && systemCodeOf(error) === "EAGAIN") {
      yield* process.stdin;
      return;
    }
    throw usage(`cannot read ${name}: ${reasonOf(error)}`, error);
  } finally {
    if (file !== STANDARD_INPUT) close(file);
  }
}

function readInto(file: number, buffer: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, buffer, 0, buffer.length, null, (error, length) =>
      error ? reject(error) : resolve(length),
    );
  });
}
