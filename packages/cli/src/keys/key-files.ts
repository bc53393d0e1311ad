import type { FileHandle } from "node:fs/promises";
import { usage } from "../errors/failures.ts";
import { AT_ONCE, readUpTo, withSmallFile } from "../input/small-file.ts";
import type { Session } from "../session.ts";

/**
 * Reads a key file.
 *
 * @param what the kind of file, for messages
 */
export async function readKeyFile(path: string, what: string): Promise<Uint8Array> {
  return withSmallFile(path, what, (handle) => readKey(handle, path, what), AT_ONCE);
}

/**
 * @throws Failure `usage` for a device, which may have no end or be a terminal, and for a pipe that
 *   gives nothing
 */
async function readKey(
  handle: FileHandle,
  path: string,
  what: string,
): Promise<Uint8Array | undefined> {
  const stats = await handle.stat();
  if (stats.isCharacterDevice() || stats.isBlockDevice()) {
    throw usage(`cannot read the ${what} ${path}: it is a device`);
  }
  const bytes = await readUpTo(handle);
  if (stats.isFIFO() && bytes?.length === 0) {
    throw usage(`cannot read the ${what} ${path}: it is a pipe, and no program writes to it`);
  }
  return bytes;
}

/** Reads a file that contains a secret, and warns if others can read it. */
export async function readSecretFile(
  path: string,
  what: string,
  session: Session,
): Promise<Uint8Array> {
  const readAndWarn = async (handle: FileHandle): Promise<Uint8Array | undefined> => {
    const stats = await handle.stat();
    // Windows has no such modes, and others cannot open a pipe.
    if (process.platform !== "win32" && stats.isFile() && (stats.mode & 0o077) !== 0) {
      await session.out.note(
        `idk: warning: other users of this machine can read the ${what} ${path}: run chmod 600 on it`,
      );
    }
    return readKey(handle, path, what);
  };
  return withSmallFile(path, what, readAndWarn, AT_ONCE);
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
