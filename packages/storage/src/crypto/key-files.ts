import { armor, dearmor, hasArmor, isArmored } from "./armor.ts";
import { BODY_NONCE } from "./key-schedule.ts";
import {
  type Identity,
  type Recipient,
  identityFromSecretKey,
  parseIdentity,
  parseRecipient,
  secretKeyOf,
} from "./keys.ts";
import { KEY_LENGTH, TAG_LENGTH } from "../format/limits.ts";
import { StorageError, usage } from "../errors.ts";
import { assertLength, concat, equal, typeName, utf8 } from "../bytes.ts";
import { hkdf, scrypt, sha256 } from "./hash.ts";
import { portableNaCl } from "./nacl/nacl-portable.ts";

/*
 * A passphrase-protected file of a secret key, 102 bytes, or the same in armor:
 * "IDKK" 01 | logN | salt 16 | commitment 32 | secretbox of the secret key 48
 */

/** What a protected file holds. Files of different kinds differ in their magic and their keys. */
export interface ProtectedFileKind {
  /** The first four bytes of the file, as ASCII text. */
  readonly magic: string;
  /** The part of the derivations that names the kind: `keyfile` in `idk/v1/keyfile/box`. */
  readonly context: string;
  /** The label of its armor, such as `IDK PROTECTED IDENTITY`. */
  readonly label: string;
  /** For messages, such as `identity file`. */
  readonly name: string;
}

const IDENTITY_FILE: ProtectedFileKind = {
  magic: "IDKK",
  context: "keyfile",
  label: "IDK PROTECTED IDENTITY",
  name: "identity file",
};

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

/** How a protected file is written. */
export interface ProtectOptions {
  /** scrypt's cost: memory is 2^logN KiB; 14 to 20, by default 17. */
  readonly logN?: number | undefined;
  /** The bytes of the key file that is replaced. Without `logN`, a higher cost than 17 stays as it is. */
  readonly replaces?: Uint8Array | undefined;
  /** Whether to write the file as text (default: false, as binary). */
  readonly armor?: boolean | undefined;
}

/** A passphrase, or a function that provides it, called only if it is needed. */
export type Passphrase = string | (() => string | Promise<string>);

/**
 * Whether a file's bytes are a passphrase-protected identity file, by its first four bytes or the first
 * line of its armor.
 */
export function isProtectedIdentityFile(bytes: Uint8Array): boolean {
  return isProtectedFile(IDENTITY_FILE, bytes);
}

/**
 * Whether a file's bytes are a protected file of this kind, by its first four bytes or the first line of
 * its armor.
 */
export function isProtectedFile(kind: ProtectedFileKind, bytes: Uint8Array): boolean {
  assertBytes(bytes);
  return hasMagic(kind, bytes) || isArmored(kind.label, bytes);
}

/** Whether a key file is to be opened as a protected one of this kind, perhaps to say what is wrong. */
export function opensAsProtected(kind: ProtectedFileKind, bytes: Uint8Array): boolean {
  assertBytes(bytes);
  return hasMagic(kind, bytes) || hasArmor(bytes);
}

function hasMagic({ magic }: ProtectedFileKind, bytes: Uint8Array): boolean {
  return equal(bytes.subarray(0, MAGIC_LENGTH), utf8(magic));
}

/**
 * Reads an identity file: text with one identity per line, `#` comments and blank lines, or a
 * passphrase-protected file with one identity, armored or not.
 *
 * @throws StorageError `key` if the file is malformed or contains no identity; `passphrase` if the
 *   passphrase is wrong; `usage` if one is needed and none is given
 */
export async function readIdentityFile(
  bytes: Uint8Array,
  passphrase?: Passphrase,
): Promise<Identity[]> {
  if (opensAsProtected(IDENTITY_FILE, bytes)) {
    return [identityFromSecretKey(await openProtectedKey(IDENTITY_FILE, bytes, passphrase))];
  }
  const identities = parseKeyLines(bytes, parseIdentity);
  if (identities.length === 0) throw new StorageError("key", "the file holds no identity");
  return identities;
}

/**
 * Protects an identity with a passphrase.
 *
 * @returns the bytes of the file: 102, or with `armor` 215 of ASCII text
 * @throws StorageError `usage`; `key` if the file to replace is malformed
 */
export async function protectIdentity(
  identity: Identity,
  passphrase: string,
  options: ProtectOptions = {},
): Promise<Uint8Array> {
  return protectKey(IDENTITY_FILE, secretKeyOf(identity), passphrase, options);
}

/**
 * Protects a secret key of 32 bytes with a passphrase, in the layout of a protected identity file.
 *
 * @param options.salt 16 bytes from the system's generator, drawn for this file; drawn here by default
 * @returns the bytes of the file: 102, or with `armor` ASCII text
 * @throws StorageError `usage`; `key` if the file to replace is malformed
 */
export async function protectKey(
  kind: ProtectedFileKind,
  secretKey: Uint8Array,
  passphrase: string,
  options: ProtectOptions & { readonly salt?: Uint8Array } = {},
): Promise<Uint8Array> {
  assertLength("secretKey", secretKey, KEY_LENGTH);
  const logN = options.logN ?? Math.max(LOG_N_DEFAULT, costOf(kind, options.replaces));
  if (!Number.isInteger(logN) || logN < LOG_N_MIN || logN > LOG_N_MAX) {
    throw usage(`logN must be an integer from ${LOG_N_MIN} to ${LOG_N_MAX}`);
  }
  if (checkedPassphrase(passphrase) === "") throw usage("the passphrase is empty");
  const { salt = crypto.getRandomValues(new Uint8Array(SALT_LENGTH)) } = options;
  assertLength("salt", salt, SALT_LENGTH);
  const head = concat(utf8(kind.magic), Uint8Array.of(VERSION, logN), salt);
  const { commitment, boxKey } = await deriveKeys(kind, passphrase, head);
  const box = new Uint8Array(TAG_LENGTH + KEY_LENGTH);
  portableNaCl.seal(box, secretKey, BODY_NONCE, boxKey);
  const file = concat(head, commitment, box);
  return options.armor === true ? armor(kind.label, file) : file;
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

/**
 * Opens a file that `protectKey` made.
 *
 * @returns the 32 bytes of the secret key
 * @throws StorageError `key` if it is malformed, before any work that its cost asks for; `passphrase`
 *   if the passphrase is wrong; `usage` if none is given
 */
export async function openProtectedKey(
  kind: ProtectedFileKind,
  bytes: Uint8Array,
  passphrase: Passphrase | undefined,
): Promise<Uint8Array> {
  assertBytes(bytes);
  const { name } = kind;
  const file = checkedFile(kind, bytes);
  if (passphrase === undefined) {
    throw usage(`the ${name} is protected: give its passphrase`);
  }
  const text = checkedPassphrase(
    typeof passphrase === "function" ? await passphrase() : passphrase,
  );
  const { commitment, boxKey } = await deriveKeys(kind, text, file.subarray(0, COMMITMENT_AT));
  if (!equal(commitment, file.subarray(COMMITMENT_AT, BOX_AT))) {
    throw new StorageError("passphrase", `the passphrase does not open this ${name}`);
  }
  const secretKey = new Uint8Array(KEY_LENGTH);
  if (!portableNaCl.open(secretKey, file.subarray(BOX_AT), BODY_NONCE, boxKey)) {
    throw new StorageError("key", `the protected ${name} is damaged`);
  }
  return secretKey;
}

/** The bytes of a protected file without armor, with a length, version and cost that exist. */
function checkedFile(kind: ProtectedFileKind, bytes: Uint8Array): Uint8Array {
  const { name, label } = kind;
  const file = !hasMagic(kind, bytes) && hasArmor(bytes) ? dearmor(label, bytes) : bytes;
  const rightKind = hasMagic(kind, file) && file[MAGIC_LENGTH] === VERSION;
  if (!rightKind || file.length !== FILE_LENGTH) {
    throw new StorageError(
      "key",
      `the protected ${name} is damaged or of another version: it has ${file.length} bytes, version 1 has ${FILE_LENGTH}`,
    );
  }
  const logN = file[LOG_N_AT]!;
  if (logN < LOG_N_MIN || logN > LOG_N_MAX) {
    throw new StorageError("key", `the protected ${name} names an impossible scrypt cost`);
  }
  return file;
}

/** @returns logN; 0 for a file that is not protected */
function costOf(kind: ProtectedFileKind, bytes: Uint8Array | undefined): number {
  if (bytes === undefined || !opensAsProtected(kind, bytes)) return 0;
  return checkedFile(kind, bytes)[LOG_N_AT]!;
}

function assertBytes(bytes: unknown): void {
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
  { context }: ProtectedFileKind,
  passphrase: string,
  head: Uint8Array,
): Promise<{ commitment: Uint8Array; boxKey: Uint8Array }> {
  const key = await scrypt(
    utf8(passphrase),
    head.subarray(SALT_AT, COMMITMENT_AT),
    head[LOG_N_AT]!,
  );
  return {
    commitment: hkdf(key, new Uint8Array(0), `idk/v1/${context}/commit`),
    boxKey: hkdf(key, sha256(head), `idk/v1/${context}/box`),
  };
}
