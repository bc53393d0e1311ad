import {
  type GenericSchema,
  type InferOutput,
  array,
  boolean,
  custom,
  literal,
  object,
  pipe,
  rawTransform,
  safeParse,
  string,
  union,
  optional as valibotOptional,
  variant,
} from "valibot";
import type { Compression } from "@idk/storage";
import type { RawSettings, RecipientSource, StoreSource } from "./environment.ts";
import { type IdentitySource, checkKeychainName } from "./identity-source.ts";
import { isAddressOrPrefix } from "./address-prefix.ts";
import { looksLikeIdentity } from "./text.ts";
import { type StoreLocation, parseStoreUrl } from "@idk/storage/url";
import type { UserFolders } from "./user-folders.ts";
import { parseChunkSize } from "./sizes.ts";
import { usage } from "./failures.ts";

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

/** Of put: how content is cut. */
export const chunkSize: Field<number> = field(parseChunkSize);

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
