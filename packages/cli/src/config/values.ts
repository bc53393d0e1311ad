import { dirname, resolve } from "node:path";
import { expandHome } from "../folders.ts";
import type { Environment } from "../invocation.ts";
import { checkKeychainName, type IdentitySource, identitySource } from "../keys/identity-source.ts";
import { recipientSource, type RecipientSource } from "../keys/recipient-source.ts";
import { parsePeriod } from "./times.ts";
import { checked, chunkSize, compression, path, recipientsPath, workers } from "./settings.ts";
import type { TomlValue } from "./toml.ts";

/** Where a value is, to resolve paths and for messages. */
export interface ValueContext {
  /** The absolute path of the file. */
  readonly file: string;
  readonly line: number;
  readonly env: Environment;
}

/** Parses one value. Throws an Error whose message follows the key and never repeats the value. */
export type ReadValue<T> = (value: TomlValue, context: ValueContext) => T;

export const text: ReadValue<string> = (value) => {
  if (typeof value === "string" && value !== "") return value;
  throw new Error('must be a string in quotes: "…"');
};

/** A path, relative to the file. */
export const filePath: ReadValue<string> = (value, context) => {
  return absolute(checked(path, text(value, context)), context);
};

export const storeUrl: ReadValue<string> = (value, context) => {
  const url = text(value, context);
  if (!/^[a-z][a-z0-9+.-]+:/iu.test(url)) return absolute(url, context);
  // A path within a URL is relative to this file, too.
  return url.replace(/([?&]sse-c-key=)([^&#]+)/u, (all, name: string, file: string) => {
    if (!canDecode(file)) return all;
    return name + encodeURIComponent(absolute(decodeURIComponent(file), context));
  });
};

export const identities: ReadValue<readonly IdentitySource[]> = (value, context) =>
  texts(value).map((item) => {
    const source = identitySource(item, (given) => filePath(given, context));
    if (source.kind === "keychain") checkKeychainName(source.name);
    return source;
  });

export const identityCommand: ReadValue<IdentitySource> = (value, { file, line, env }) => {
  const from = `identity-command (${file}:${line})`;
  const command = Array.isArray(value) ? texts(value) : text(value, { file, line, env });
  return { kind: "command", command, from, folder: dirname(file), env };
};

export const recipients: ReadValue<readonly RecipientSource[]> = (value, context) =>
  texts(value).map((item) =>
    recipientSource(item, (given) => absolute(checked(recipientsPath, given), context)),
  );

export const compress: ReadValue<string> = (value, context) =>
  checked(compression, text(value, context));

export const workerCount: ReadValue<string> = (value) => {
  if (typeof value !== "number") throw new Error("must be a number, without quotes");
  return checked(workers, `${value}`);
};

export const chunkLength: ReadValue<string> = (value) => {
  if (typeof value === "boolean" || typeof value === "object")
    throw new Error('must be a size such as "4M"');
  return checked(chunkSize, `${value}`);
};

export const yesOrNo: ReadValue<boolean> = (value) => {
  if (typeof value === "boolean") return value;
  throw new Error("must be true or false, without quotes");
};

/** A uuid as the owner's settings have it. Whether it is the right one, the settings decide. */
export const repositoryId: ReadValue<string> = (value, context) => {
  const id = text(value, context);
  if (/^[0-9a-f]{32}$/u.test(id)) return id;
  throw new Error("must be the 32 hexadecimal digits that `idk repo show` prints");
};

/** The owner's public key, whose checksum is compared when it is used. */
export const ownerKey: ReadValue<string> = (value, context) => {
  const key = text(value, context);
  if (/^idk-writer1[02-9ac-hj-np-z]{6,100}$/u.test(key)) return key;
  throw new Error("must be the public key idk-writer1… that `idk repo show` prints");
};

/** A period in seconds. */
export const period: ReadValue<number> = (value, context) => parsePeriod(text(value, context));

export const chainPatterns: ReadValue<readonly string[]> = (value) => texts(value);

function texts(value: TomlValue): readonly string[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.length > 0 && items.every((item) => typeof item === "string" && item !== "")) {
    return items;
  }
  throw new Error('must be a string in quotes or a list of them: ["…", "…"]');
}

function absolute(path: string, { file, env }: ValueContext): string {
  return resolve(dirname(file), expandHome(path, env));
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
