import {
  type ProtectedFileKind,
  isProtectedFile,
  openProtectedKey,
  opensAsProtected,
  parseKeyLines,
  protectKey,
} from "@idk/storage/blobs";
import { type WriterKey, parseWriterKey, seedOf, writerKeyFromSeed } from "./writer.ts";
import { type Passphrase, type ProtectOptions, StorageError } from "@idk/storage";

/** As an identity file, with another magic number and other derivations: one never opens as the other. */
const WRITER_FILE: ProtectedFileKind = {
  magic: "IDKW",
  context: "writerfile",
  label: "IDK PROTECTED WRITER KEY",
  name: "writer file",
};

/**
 * Whether a file's bytes are a passphrase-protected writer file, by its first four bytes or the first
 * line of its armor.
 */
export function isProtectedWriterFile(bytes: Uint8Array): boolean {
  return isProtectedFile(WRITER_FILE, bytes);
}

/**
 * Reads a writer file: text with one writer key, `#` comments and blank lines, or a
 * passphrase-protected file, armored or not.
 *
 * @throws StorageError `key` if the file is malformed or does not hold exactly one key; `passphrase` if
 *   the passphrase is wrong; `usage` if one is needed and none is given
 */
export async function readWriterFile(
  bytes: Uint8Array,
  passphrase?: Passphrase,
): Promise<WriterKey> {
  if (opensAsProtected(WRITER_FILE, bytes)) {
    return writerKeyFromSeed(await openProtectedKey(WRITER_FILE, bytes, passphrase));
  }
  const keys = parseKeyLines(bytes, parseWriterKey);
  const [key] = keys;
  // A host signs with one key, so that another one would be there by mistake.
  if (key === undefined || keys.length > 1) {
    throw new StorageError("key", `the writer file holds ${keys.length} keys instead of one`);
  }
  return key;
}

/**
 * Protects a writer key with a passphrase.
 *
 * @param salt 16 bytes from the system's generator, drawn for this file
 * @returns the bytes of the file: 102, or with `armor` 219 of ASCII text
 * @throws StorageError `usage`; `key` if the file to replace is malformed
 */
export async function protectWriterKey(
  key: WriterKey,
  passphrase: string,
  salt: Uint8Array,
  options: ProtectOptions = {},
): Promise<Uint8Array> {
  return protectKey(WRITER_FILE, seedOf(key), passphrase, { ...options, salt });
}
