import {
  type Identity,
  type Recipient,
  identityFromSecretKey,
  parseIdentity,
  parseRecipient,
  secretKeyOf,
} from "./keys.ts";
import {
  type KeyFileKind,
  type Passphrase,
  assertBytes,
  isProtectedKeyFile,
  openProtectedKey,
  protectKey,
} from "./protected-key.ts";
import { StorageError } from "../errors.ts";

const IDENTITY_FILE: KeyFileKind = {
  magic: "IDKK",
  derivation: "idk/v1/keyfile",
  name: "identity file",
};

/** Whether a file's bytes are a passphrase-protected identity file, by its first four bytes. */
export function isProtectedIdentityFile(bytes: Uint8Array): boolean {
  return isProtectedKeyFile(IDENTITY_FILE, bytes);
}

/**
 * Reads an identity file: text with one identity per line, `#` comments and blank lines, or a
 * passphrase-protected file with one identity.
 *
 * @throws StorageError `key` if the file is malformed or contains no identity; `passphrase` if the
 *   passphrase is wrong; `usage` if one is needed and none is given
 */
export async function readIdentityFile(
  bytes: Uint8Array,
  passphrase?: Passphrase,
): Promise<Identity[]> {
  if (isProtectedIdentityFile(bytes)) {
    return [identityFromSecretKey(await openProtectedKey(IDENTITY_FILE, bytes, passphrase))];
  }
  const identities = parseKeyLines(bytes, parseIdentity);
  if (identities.length === 0) throw new StorageError("key", "the file holds no identity");
  return identities;
}

/**
 * Protects an identity with a passphrase.
 *
 * @param options.logN scrypt's cost: memory is 2^logN KiB; 14 to 20, by default 17
 * @returns the 102 bytes of the file
 * @throws StorageError `usage`
 */
export async function protectIdentity(
  identity: Identity,
  passphrase: string,
  options: { readonly logN?: number } = {},
): Promise<Uint8Array> {
  return protectKey(IDENTITY_FILE, secretKeyOf(identity), passphrase, undefined, options.logN);
}

/**
 * Reads a recipients file: one `idk1…` per line, `#` comments and blank lines.
 *
 * @throws StorageError `key` if a line is not a recipient, or there is none
 */
export function readRecipientsFile(bytes: Uint8Array): Recipient[] {
  const recipients = parseKeyLines(bytes, parseRecipient);
  if (recipients.length === 0) throw new StorageError("key", "the file holds no recipient");
  return recipients;
}

/**
 * Parses all lines of a key file but comments and blank ones. Errors name the line's number, never its
 * text.
 *
 * @throws StorageError of `parse`
 */
export function parseKeyLines<T>(bytes: Uint8Array, parse: (line: string) => T): T[] {
  assertBytes(bytes);
  const parsed: T[] = [];
  for (const [index, raw] of new TextDecoder().decode(bytes).split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    try {
      parsed.push(parse(line));
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      throw new StorageError(error.code, `line ${index + 1}: ${error.message}`);
    }
  }
  return parsed;
}
