import { type FileHandle, open } from "node:fs/promises";
import { Failure, reasonOf, usage } from "../errors/failures.ts";
import type { Session } from "../session.ts";

/** Key files are short; a mistyped path may name anything. */
const KEY_FILE_MAX = 2 ** 20;

/**
 * Reads a key file.
 *
 * @param what the kind of file, for messages
 */
export async function readKeyFile(path: string, what: string): Promise<Uint8Array> {
  return withKeyFile(path, what, (handle) => readUpTo(handle));
}

/** Reads a file that contains a secret, and warns if others can read it. */
export async function readSecretFile(
  path: string,
  what: string,
  session: Session,
): Promise<Uint8Array> {
  return withKeyFile(path, what, async (handle) => {
    const stats = await handle.stat();
    // Windows has no such modes, and others cannot open a pipe.
    if (process.platform !== "win32" && stats.isFile() && (stats.mode & 0o077) !== 0) {
      await session.out.note(
        `idk: warning: other users of this machine can read the ${what} ${path}: run chmod 600 on it`,
      );
    }
    return readUpTo(handle);
  });
}

/**
 * Opens a key file and reads it.
 *
 * @param read returns undefined if the file is too long; see `readUpTo`
 */
export async function withKeyFile(
  path: string,
  what: string,
  read: (handle: FileHandle) => Promise<Uint8Array | undefined>,
): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  try {
    const handle = await open(path, "r");
    try {
      bytes = await read(handle);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw usage(`cannot read the ${what} ${path}: ${reasonOf(error)}`, error);
  }
  if (bytes === undefined) throw usage(`the ${what} ${path} is too long`);
  return bytes;
}

/** @returns undefined if the file is longer */
export async function readUpTo(
  handle: FileHandle,
  limit: number = KEY_FILE_MAX,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024, null);
    if (bytesRead === 0) return Buffer.concat(pieces);
    length += bytesRead;
    if (length > limit) return undefined;
    pieces.push(buffer.subarray(0, bytesRead));
  }
}

const LENGTH = 32;
const HEX = /^[0-9a-f]{64}\s*$/iu;

/**
 * Reads a 32-byte secret from a file that contains the bytes, or 64 hexadecimal digits.
 *
 * @param what the kind of file, for messages
 */
export async function readSecretBytes(
  path: string,
  what: string,
  session: Session,
): Promise<Uint8Array> {
  const bytes = await readSecretFile(path, what, session);
  if (bytes.length === LENGTH) return bytes;
  const text = Buffer.from(bytes).toString("latin1");
  if (HEX.test(text)) return Buffer.from(text.trimEnd(), "hex");
  throw usage(
    `the ${what} ${path} must contain 32 bytes or 64 hexadecimal digits: ` +
      "create one with `head -c 32 /dev/urandom > FILE`",
  );
}

export async function loadDedupSecret(
  path: string | undefined,
  session: Session,
): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined;
  return readSecretBytes(path, "dedup secret file", session);
}
