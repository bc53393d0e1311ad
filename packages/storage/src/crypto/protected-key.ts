import { KEY_LENGTH, TAG_LENGTH } from "../format/limits.ts";
import { StorageError, usage } from "../errors.ts";
import { assertLength, concat, equal, typeName, utf8 } from "../bytes.ts";
import { hkdf, scrypt, sha256 } from "./hash.ts";
import { BODY_NONCE } from "./key-schedule.ts";
import { portableNaCl } from "./nacl-portable.ts";

/*
 * A key file that a passphrase protects, 102 bytes:
 * magic 4 | 01 | logN | salt 16 | commitment 32 | secretbox of the key 48
 */
const MAGIC_LENGTH = 4;
const VERSION = 1;
const LOG_N_AT = MAGIC_LENGTH + 1;
const SALT_AT = LOG_N_AT + 1;
const SALT_LENGTH = 16;
const COMMITMENT_AT = SALT_AT + SALT_LENGTH;
const BOX_AT = COMMITMENT_AT + 32;
const FILE_LENGTH = BOX_AT + TAG_LENGTH + KEY_LENGTH;

const LOG_N_MIN = 14;
const LOG_N_MAX = 20;
/** With r = 8 (RFC 7914): 128 MiB, and about a quarter of a second. */
const LOG_N_DEFAULT = 17;

/** A kind of key file. Two kinds differ in all three, so that a file never opens as another kind. */
export interface KeyFileKind {
  /** The first four bytes, ASCII. */
  readonly magic: string;
  /** Begins the infos of the derivations, such as "idk/v1/keyfile". */
  readonly derivation: string;
  /** For messages, such as "identity file". */
  readonly name: string;
}

/** A passphrase, or a function that provides it, called only if it is needed. */
export type Passphrase = string | (() => string | Promise<string>);

/** Whether a file's bytes are a passphrase-protected key file of this kind, by its first four bytes. */
export function isProtectedKeyFile(kind: KeyFileKind, bytes: Uint8Array): boolean {
  assertBytes(bytes);
  return equal(bytes.subarray(0, MAGIC_LENGTH), utf8(kind.magic));
}

/**
 * Protects a key with a passphrase.
 *
 * @param key 32 bytes
 * @param salt 16 bytes from the system's generator, drawn for this file
 * @param logN scrypt's cost: memory is 2^logN KiB; 14 to 20
 * @returns the 102 bytes of the file
 * @throws StorageError `usage`
 */
export async function protectKey(
  kind: KeyFileKind,
  key: Uint8Array,
  passphrase: string,
  salt: Uint8Array = crypto.getRandomValues(new Uint8Array(SALT_LENGTH)),
  logN: number = LOG_N_DEFAULT,
): Promise<Uint8Array> {
  if (!Number.isInteger(logN) || logN < LOG_N_MIN || logN > LOG_N_MAX) {
    throw usage(`logN must be an integer from ${LOG_N_MIN} to ${LOG_N_MAX}`);
  }
  if (checkedPassphrase(passphrase) === "") throw usage("the passphrase is empty");
  assertLength("key", key, KEY_LENGTH);
  assertLength("salt", salt, SALT_LENGTH);
  const head = concat(utf8(kind.magic), Uint8Array.of(VERSION, logN), salt);
  const { commitment, boxKey } = await deriveKeys(kind, passphrase, head);
  const box = new Uint8Array(TAG_LENGTH + KEY_LENGTH);
  portableNaCl.seal(box, key, BODY_NONCE, boxKey);
  return concat(head, commitment, box);
}

/**
 * Opens a protected key file.
 *
 * @returns the key, 32 bytes
 * @throws StorageError `key` if the file is malformed; `passphrase` if the passphrase is wrong; `usage`
 *   if none is given
 */
export async function openProtectedKey(
  kind: KeyFileKind,
  bytes: Uint8Array,
  passphrase: Passphrase | undefined,
): Promise<Uint8Array> {
  if (
    bytes.length !== FILE_LENGTH ||
    !isProtectedKeyFile(kind, bytes) ||
    bytes[MAGIC_LENGTH] !== VERSION
  ) {
    throw new StorageError(
      "key",
      `the protected ${kind.name} is damaged or of another version: it has ${bytes.length} bytes, version 1 has ${FILE_LENGTH}`,
    );
  }
  const logN = bytes[LOG_N_AT]!;
  if (logN < LOG_N_MIN || logN > LOG_N_MAX) {
    throw new StorageError("key", `the protected ${kind.name} names an impossible scrypt cost`);
  }
  if (passphrase === undefined) {
    throw usage(`the ${kind.name} is protected: give its passphrase`);
  }
  const text = checkedPassphrase(
    typeof passphrase === "function" ? await passphrase() : passphrase,
  );
  const { commitment, boxKey } = await deriveKeys(kind, text, bytes.subarray(0, COMMITMENT_AT));
  if (!equal(commitment, bytes.subarray(COMMITMENT_AT, BOX_AT))) {
    throw new StorageError("passphrase", `the passphrase does not open this ${kind.name}`);
  }
  const key = new Uint8Array(KEY_LENGTH);
  if (!portableNaCl.open(key, bytes.subarray(BOX_AT), BODY_NONCE, boxKey)) {
    throw new StorageError("key", `the protected ${kind.name} is damaged`);
  }
  return key;
}

/** Rejects anything but bytes. */
export function assertBytes(bytes: unknown): void {
  if (!(bytes instanceof Uint8Array)) {
    throw usage(`a key file is read from its bytes, a Uint8Array, got ${typeName(bytes)}`);
  }
}

/** Rejects anything else, because it would silently be converted to text such as "undefined". */
function checkedPassphrase(passphrase: unknown): string {
  if (typeof passphrase === "string") return passphrase;
  throw usage(`a passphrase is text, got ${typeName(passphrase)}`);
}

/** Derives both keys of a protected file from its head, which is everything before the commitment. */
async function deriveKeys(
  { derivation }: KeyFileKind,
  passphrase: string,
  head: Uint8Array,
): Promise<{ commitment: Uint8Array; boxKey: Uint8Array }> {
  const key = await scrypt(
    utf8(passphrase),
    head.subarray(SALT_AT, COMMITMENT_AT),
    head[LOG_N_AT]!,
  );
  return {
    commitment: hkdf(key, new Uint8Array(0), `${derivation}/commit`),
    boxKey: hkdf(key, sha256(head), `${derivation}/box`),
  };
}
