import type { Compression } from "@idk/storage";
import { parseStoreUrl, type StoreLocation } from "@idk/storage/url";
import {
  array,
  boolean,
  custom,
  fallback,
  type GenericSchema,
  type InferOutput,
  literal,
  object,
  optional as valibotOptional,
  pipe,
  rawTransform,
  safeParse,
  string,
  union,
  variant,
} from "valibot";
import {
  addressFault,
  DIGITS_TO_ACT,
  DIGITS_TO_DISPLAY,
  isAddressOrPrefix,
} from "../blobs/address.ts";
import { usage } from "../errors/failures.ts";
import type { UserFolders } from "../folders.ts";
import type { Environment, RawSettings } from "../invocation.ts";
import { checkKeychainName, type IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipient-source.ts";
import { isSecretNotPath, looksLikeSecret, mayHaveSecret } from "../output/secrets.ts";
import { looksLikeIdentity } from "../output/text.ts";

import type { RepositoryEntry } from "./config.ts";
import type { Overrides } from "./overrides.ts";

/*
 * Validates settings once and returns a typed value that contains only what a command declares.
 */

/** The schema of one setting. */
export type Field<T> = GenericSchema<unknown, T>;

const MISSING = "is missing";

/** A string, parsed by a function whose error messages follow the setting's name. */
export function field<T>(parse: (text: string) => T): Field<T> {
  return parsed(string(MISSING), parse);
}

/** The same of an option whose value may be omitted. */
export function optionalValue<T>(omitted: string, parse: (text: string) => T): Field<T> {
  const given = custom<string | true>((value) => value === true || typeof value === "string");
  return parsed(given, (value) => parse(value === true ? omitted : value));
}

function parsed<I, T>(input: Field<I>, parse: (value: I) => T): Field<T> {
  return pipe(
    input,
    rawTransform(({ dataset, addIssue, NEVER }) => {
      try {
        return parse(dataset.value);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        addIssue({ message: error.message });
        return NEVER;
      }
    }),
  );
}

/** A path. A secret given by mistake must not be printed. */
export const path: Field<string> = field((text) => {
  if (looksLikeIdentity(text)) throw new Error(NOT_ITSELF);
  if (isSecretNotPath(text)) throw new Error(mayHaveSecret(text) ? A_URL : NOT_A_FILE);
  return anyPath(text);
});

/** The path of a file to create, whose name may be an address. */
export const newPath: Field<string> = field((text) => {
  if (looksLikeIdentity(text)) throw new Error(NOT_ITSELF);
  if (!isAddressOrPrefix(text) && isSecretNotPath(text)) {
    throw new Error(mayHaveSecret(text) ? A_URL : NOT_A_FILE);
  }
  return anyPath(text);
});

function anyPath(text: string): string {
  if (text === "") throw new Error("takes a file, got an empty string");
  if (text.includes("\0")) throw new Error("takes a file, and a path cannot contain a NUL byte");
  return text;
}

const NOT_ITSELF =
  "takes a file, not the identity itself (use the variable IDK_IDENTITY_KEY for that)";

const NOT_A_FILE = "looks like a secret key, not a file: write it to a file and name that";

const NOT_PUBLIC =
  "looks like a secret key: give the public key instead, which `idk recipient -i FILE` prints";

const A_URL = "is a URL, not a file";

/** A file of recipients. A secret key is not to be written to one. */
export const recipientsPath: Field<string> = field((text) => {
  if (looksLikeIdentity(text) || (isSecretNotPath(text) && !mayHaveSecret(text))) {
    throw new Error(NOT_PUBLIC);
  }
  return checked(path, text);
});

export const paths: Field<string[]> = valibotOptional(array(path), []);

export const text: Field<string> = string();
export const texts: Field<string[]> = valibotOptional(array(string()), []);
/** Tags, separated by commas as in restic: a list for each flag. */
export const tagLists: Field<string[][]> = valibotOptional(array(field(parseTags)), []);
/** `--name NAME` or `--no-name`; undefined if neither is given. */
export const nameChoice: Field<string | boolean | undefined> = valibotOptional(
  union([string(), boolean()]),
);
export const flag: Field<boolean> = valibotOptional(boolean(), false);
/** A flag with a negation; undefined if neither is given. */
export const choice: Field<boolean | undefined> = valibotOptional(boolean());
export const folders: Field<UserFolders> = custom<UserFolders>(() => true);
/** Determined by `resolveSettings`, for commands that store something. */
export const overrides: Field<Overrides | undefined> = custom<Overrides | undefined>(() => true);
export const passphrase: Field<string | undefined> = valibotOptional(string());

function parseTags(given: string): string[] {
  const tags = given.split(",").map((tag) => tag.trim());
  if (tags.includes("")) throw new Error("takes tags such as home, or home,weekly for both");
  return tags;
}

const COMPRESSIONS: readonly Compression[] = ["zstd", "lz4", "auto", "none"];

export const compression: Field<Compression> = valibotOptional(
  field((given) => {
    const known = COMPRESSIONS.find((name) => name === given);
    if (known === undefined) throw new Error("must be zstd, lz4, auto or none");
    return known;
  }),
  "none",
);

/** Number of threads; undefined for the library's default. */
export const workers: Field<number | undefined> = valibotOptional(
  field((given) => {
    const count = /^\d{1,2}$/u.test(given) ? Number(given) : Infinity;
    if (count > WORKERS_MAX) throw new Error(`must be a number from 0 to ${WORKERS_MAX}`);
    return count;
  }),
);

const WORKERS_MAX = 64;

/** An address or its prefix, which `resolveAddress` completes. */
export const address: Field<string> = addressField(DIGITS_TO_ACT);

/** The same for commands that only display, and print the full address. */
export const displayedAddress: Field<string> = addressField(DIGITS_TO_DISPLAY);

function addressField(digitsMin: number): Field<string> {
  return field((given) => {
    // The library checks it again; this message is more helpful.
    const fault = addressFault(given, digitsMin);
    if (fault !== undefined) throw new Error(fault);
    return given;
  });
}

export const addresses: Field<string[]> = valibotOptional(array(address), []);
export const displayedAddresses: Field<string[]> = valibotOptional(array(displayedAddress), []);

/** Addresses, and stored paths or patterns of them. */
export const addressesOrPaths: Field<string[]> = valibotOptional(
  array(
    field((given) => {
      const fault = addressFault(given, DIGITS_TO_ACT);
      if (fault === undefined) return given;
      if (isAddressOrPrefix(given) || given === "") throw new Error(fault);
      if (looksLikeSecret(given)) {
        throw new Error(
          `${fault}. It looks like a secret key; if it is a stored path, write ./PATH`,
        );
      }
      return given;
    }),
  ),
  [],
);

/** A store's URL, and the environment that completes it. */
export interface StoreSource {
  readonly url: string;
  readonly env: Environment;
}

export const store: Field<StoreLocation> = parsed(
  custom<StoreSource>((source) => source !== undefined, MISSING),
  ({ url, env }) => {
    // The parser of URLs repeats no part that may be secret.
    if (!url.includes("://") && isSecretNotPath(url))
      throw new Error("looks like a secret key, not a store");
    return parseStoreUrl(url, env);
  },
);

/** What the configuration pins of the repository in a store, and where that can be written. */
export interface RepositorySource {
  /** Undefined if it pins nothing. */
  readonly pins: RepositoryEntry | undefined;
  /** The table of the store in the configuration; undefined if the store is not one of its. */
  readonly table: { readonly config: string; readonly store: string } | undefined;
  readonly env: Environment;
}

/** Determined by `resolveSettings`. */
export const repository: Field<RepositorySource> = custom<RepositorySource>(() => true);

/** A snapshot, as the library resolves it. */
export const snapshot: Field<string> = field(checkedSnapshot);
export const snapshots: Field<string[]> = valibotOptional(array(snapshot), []);

function checkedSnapshot(text: string): string {
  if (text === "") throw new Error("takes a snapshot, got an empty string");
  if (looksLikeIdentity(text)) throw new Error("is a secret key, not a snapshot");
  return text;
}

/** The sources of a command's identities, for `loadIdentities`. */
export const identitySources: Field<IdentitySource[]> = valibotOptional(
  array(
    parsed(
      custom<IdentitySource>(() => true),
      (source) => {
        if (source.kind === "file") checked(path, source.path);
        if (source.kind === "keychain") checkKeychainName(source.name);
        return source;
      },
    ),
  ),
  [],
);

/** The same for commands that do without: sources that are not valid count as none. */
export const validIdentitySources: Field<IdentitySource[]> = fallback(identitySources, []);

export const recipients: Field<RecipientSource[]> = valibotOptional(
  array(
    variant("kind", [
      object({ kind: literal("recipient"), text: string() }),
      object({ kind: literal("file"), path: recipientsPath }),
    ]),
  ),
  [],
);

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  K: 2 ** 10,
  KIB: 2 ** 10,
  M: 2 ** 20,
  MIB: 2 ** 20,
  G: 2 ** 30,
  GIB: 2 ** 30,
  T: 2 ** 40,
  TIB: 2 ** 40,
};

/** Parses `4M`, `512KiB` or a number of bytes. Rejects KB and MB, which are ambiguous. */
function parseSize(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,16})([KMGT](?:iB)?)?$/iu.exec(text) ?? [];
  const size = Number(digits) * (UNITS[unit.toUpperCase()] ?? Number.NaN);
  return Number.isSafeInteger(size) ? size : undefined;
}

const CHUNK_SIZE_MIN = 2 ** 18;
const CHUNK_SIZE_MAX = 2 ** 24;

function parseChunkSize(text: string): number {
  const size = parseSize(text) ?? 0;
  if (size < CHUNK_SIZE_MIN || size > CHUNK_SIZE_MAX || !Number.isInteger(Math.log2(size))) {
    throw new Error("must be a power of two from 256K to 16M, such as 4M");
  }
  return size;
}

export interface Range {
  readonly start?: number;
  /** Exclusive. */
  readonly end?: number;
}

/** Parses `START-END`: START inclusive, END exclusive; either may be omitted. */
function parseRange(text: string): Range {
  const parts = /^(\d*)-(\d*)$/u.exec(text);
  const [start, end] = [parts?.[1] ?? "", parts?.[2] ?? ""];
  if (start === "" && end === "") {
    throw new Error("must be START-END in bytes, END excluded, such as 0-100, 100- or -100");
  }
  const range: Range = {
    ...(start === "" ? {} : { start: Number(start) }),
    ...(end === "" ? {} : { end: Number(end) }),
  };
  if (!Number.isSafeInteger(range.start ?? 0) || !Number.isSafeInteger(range.end ?? 0)) {
    throw new Error("is out of bounds");
  }
  if (range.end !== undefined && (range.start ?? 0) > range.end) {
    throw new Error("ends before it starts");
  }
  return range;
}

export const chunkSize: Field<number> = field(parseChunkSize);

/** Bytes. */
export const size: Field<number> = field((given) => {
  const bytes = parseSize(given);
  if (bytes === undefined) throw new Error("must be a size such as 500K, 100M or 2G");
  return bytes;
});

/** The most bytes of content to write; undefined for no limit. */
export const maxSize: Field<number | undefined> = valibotOptional(size);

export const range: Field<Range | undefined> = valibotOptional(field(parseRange));

/** Files up to this size transfer again as fast as a journal is kept. */
const RESUME_MIN = 64 * 2 ** 20;

/** @param choice the value of `--resume` and `--no-resume` */
export function isResumed(choice: boolean | undefined, size: number): boolean {
  return choice ?? size > RESUME_MIN;
}

/** Returns the value if the field accepts it, and throws the field's message if not. */
export function checked<T>(check: Field<unknown>, value: T): T {
  const { issues } = safeParse(check, value);
  if (issues === undefined) return value;
  throw new Error(issues[0].message);
}

/** Makes a field optional. */
export function optional<T>(inner: Field<T>): Field<T | undefined> {
  return valibotOptional(inner);
}

/** The fields of a command, by name. */
export type Shape = Readonly<Record<string, Field<unknown>>>;

export type SettingsOf<S extends Shape> = { readonly [K in keyof S]: InferOutput<S[K]> };

/**
 * Validates raw settings and returns only those that the command declares.
 *
 * @param labels names of settings in messages that differ from the usual ones
 */
export function readSettings<S extends Shape>(
  shape: S,
  raw: RawSettings,
  labels: Readonly<Record<string, string>> = {},
): SettingsOf<S> {
  const { success, output, issues } = safeParse(object(shape), raw);
  if (success) return output;
  const [{ path: [setting] = [], message }] = issues;
  const name = typeof setting?.key === "string" ? setting.key : "";
  throw usage(messageOf(name, message, labels));
}

/** Names of settings in messages, if they are not simply the flag. */
const LABELS: Readonly<Record<string, string>> = {
  address: "ADDRESS",
  compress: "--compress or IDK_COMPRESS",
  file: "FILE",
  identity: "-i or IDK_IDENTITY",
  recipients: "-R or IDK_RECIPIENTS",
  head: "--head",
  id: "ID",
  snapshot: "SNAPSHOT",
  store: "--store or IDK_STORE",
  location: "URL or IDK_STORE",
  workers: "--workers or IDK_WORKERS",
};

const MISSING_STORE: Readonly<Record<string, string>> = {
  store: "name its folder or URL with --store or IDK_STORE, or run `idk init` once",
  location: "name its folder or URL, or set IDK_STORE",
  from: "name the one to copy from with --from URL",
  to: "name the one to copy to with --to URL",
};

function messageOf(
  name: string,
  message: string,
  labels: Readonly<Record<string, string>>,
): string {
  if (message === MISSING && name in MISSING_STORE) return `no store: ${MISSING_STORE[name]}`;
  const asFlag = `--${name.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
  return `${labels[name] ?? LABELS[name] ?? asFlag} ${message}`;
}
