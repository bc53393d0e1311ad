import type { Compression } from "@idk/storage";
import { parseStoreUrl, type StoreLocation } from "@idk/storage/url";
import {
  array,
  boolean,
  custom,
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
import { isAddressOrPrefix } from "../blobs/address.ts";
import { usage } from "../errors/failures.ts";
import type { UserFolders } from "../folders.ts";
import type { Environment, RawSettings } from "../invocation.ts";
import { checkKeychainName, type IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipients.ts";
import { looksLikeIdentity } from "../output/text.ts";

/*
 * The command line and the environment become one typed value here, once. A command gets only the
 * settings it names.
 */

/** The schema of one setting. */
export type Field<T> = GenericSchema<unknown, T>;

const MISSING = "is missing";

/**
 * Reads a text by a function that throws where it is wrong, with a message that follows the
 * setting's name.
 */
export function field<T>(parse: (text: string) => T): Field<T> {
  return parsed(string(MISSING), parse);
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

/** A path on the command line. An identity in its place is a slip that must not be repeated. */
export const path: Field<string> = field((text) => {
  if (looksLikeIdentity(text)) throw new Error(NOT_ITSELF);
  if (text === "") throw new Error("takes a file, got an empty text");
  if (text.includes("\0")) throw new Error("takes a file, and no file's name has a zero byte");
  return text;
});

const NOT_ITSELF =
  "takes a file, not the identity itself (a variable for that is IDK_IDENTITY_KEY)";

export const paths: Field<string[]> = valibotOptional(array(path), []);

export const text: Field<string> = string();
export const texts: Field<string[]> = valibotOptional(array(string()), []);
/** `--name NAME` or `--no-name`; undefined where neither was given. */
export const nameChoice: Field<string | boolean | undefined> = valibotOptional(
  union([string(), boolean()]),
);
export const flag: Field<boolean> = valibotOptional(boolean(), false);
/** A flag with an opposite: undefined where neither was given. */
export const choice: Field<boolean | undefined> = valibotOptional(boolean());
export const folders: Field<UserFolders> = custom<UserFolders>(() => true);
export const passphrase: Field<string | undefined> = valibotOptional(string());

const COMPRESSIONS: readonly Compression[] = ["zstd", "lz4", "auto", "none"];

export const compression: Field<Compression> = valibotOptional(
  field((given) => {
    const known = COMPRESSIONS.find((name) => name === given);
    if (known === undefined) throw new Error("must be zstd, lz4, auto or none");
    return known;
  }),
  "none",
);

/** Threads to seal and open with; undefined leaves it to the library. */
export const workers: Field<number | undefined> = valibotOptional(
  field((given) => {
    const count = /^\d{1,2}$/u.test(given) ? Number(given) : Infinity;
    if (count > WORKERS_MAX) throw new Error(`must be a number from 0 to ${WORKERS_MAX}`);
    return count;
  }),
);

const WORKERS_MAX = 64;

/** An address, or its beginning; `resolveAddress` makes it whole. */
export const address: Field<string> = field((given) => {
  // The library checks it again; here the message can say where addresses come from.
  if (isAddressOrPrefix(given)) return given;
  throw new Error(
    "must be 64 lowercase hexadecimal digits, as `idk put` prints them, or the first 8 or more",
  );
});

export const addresses: Field<string[]> = valibotOptional(array(address), []);

/** A store's URL, with the variables that complete it. */
export interface StoreSource {
  readonly url: string;
  readonly env: Environment;
}

export const store: Field<StoreLocation> = parsed(
  custom<StoreSource>((source) => source !== undefined, MISSING),
  ({ url, env }) => parseStoreUrl(url, env),
);

/** Where the identities of a command come from; opened by `loadIdentities`. */
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

export const recipients: Field<RecipientSource[]> = valibotOptional(
  array(
    variant("kind", [
      object({ kind: literal("recipient"), text: string() }),
      object({ kind: literal("file"), path }),
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
};

const CHUNK_SIZE_MIN = 2 ** 18;
const CHUNK_SIZE_MAX = 2 ** 24;

/** Reads `4M`, `512KiB` or a number of bytes. KB and MB are refused: people disagree on them. */
function parseChunkSize(text: string): number {
  const parts = /^(\d{1,9})(K|KiB|M|MiB)?$/iu.exec(text);
  const size = parts ? Number(parts[1]) * (UNITS[(parts[2] ?? "").toUpperCase()] ?? Number.NaN) : 0;
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

/** Reads `START-END`: START inclusive, END exclusive, either of them may be left out. */
function parseRange(text: string): Range {
  const parts = /^(\d*)-(\d*)$/u.exec(text);
  const [start, end] = [parts?.[1] ?? "", parts?.[2] ?? ""];
  if (start === "" && end === "") {
    throw new Error("must be START-END in bytes, END not included, such as 0-100, 100- or -100");
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

/** Of put: how content is cut. */
export const chunkSize: Field<number> = field(parseChunkSize);

/** A range of bytes. */
export const range: Field<Range | undefined> = valibotOptional(field(parseRange));

/** Files up to this size are as quickly moved again as their parts are looked after. */
const RESUME_MIN = 64 * 2 ** 20;

/** @param choice what `--resume` and `--no-resume` say */
export function isResumed(choice: boolean | undefined, size: number): boolean {
  return choice ?? size > RESUME_MIN;
}

/** Gives a value back if a field takes it, and throws its message if not. */
export function checked<T>(check: Field<unknown>, value: T): T {
  const { issues } = safeParse(check, value);
  if (issues === undefined) return value;
  throw new Error(issues[0].message);
}

/** Makes a field one that may be left out. */
export function optional<T>(inner: Field<T>): Field<T | undefined> {
  return valibotOptional(inner);
}

/** The fields a command declares, by name. */
export type Shape = Readonly<Record<string, Field<unknown>>>;

export type SettingsOf<S extends Shape> = { readonly [K in keyof S]: InferOutput<S[K]> };

/**
 * Checks raw settings against what a command declares, and keeps nothing else.
 *
 * @param labels what to call settings in messages, by name, where it is not as usual
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

/** What people call a setting that is not simply its own flag. */
const LABELS: Readonly<Record<string, string>> = {
  address: "ADDRESS",
  compress: "--compress or IDK_COMPRESS",
  file: "FILE",
  identity: "-i or IDK_IDENTITY",
  recipients: "-R or IDK_RECIPIENTS",
  store: "--store or IDK_STORE",
  target: "URL or IDK_STORE",
  workers: "--workers or IDK_WORKERS",
};

const NO_STORE: Readonly<Record<string, string>> = {
  store: "name its folder or URL with --store URL or in IDK_STORE, or run `idk init` once",
  target: "name its folder or URL, or set IDK_STORE",
  from: "name the one to copy from with --from URL",
  to: "name the one to copy to with --to URL",
};

function messageOf(
  name: string,
  message: string,
  labels: Readonly<Record<string, string>>,
): string {
  if (message === MISSING && name in NO_STORE) return `no store: ${NO_STORE[name]}`;
  const asFlag = `--${name.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
  return `${labels[name] ?? LABELS[name] ?? asFlag} ${message}`;
}
