import { dirname, resolve } from "node:path";
import { expandHome } from "../folders.ts";
import type { Environment } from "../invocation.ts";
import { checkKeychainName, type IdentitySource, identitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipients.ts";
import { checked, chunkSize, compression, path, workers } from "./settings.ts";
import type { TomlValue } from "./toml.ts";

/** What values refer to. */
export interface Place {
  /** Of the file, absolute. */
  readonly file: string;
  readonly line: number;
  readonly env: Environment;
}

/** Reads one value; throws an Error whose message follows the key. It never repeats the value. */
export type ReadValue<T> = (value: TomlValue, place: Place) => T;

export const text: ReadValue<string> = (value) => {
  if (typeof value === "string" && value !== "") return value;
  throw new Error('takes a text in quotes: "…"');
};

/** A path, relative to the file. */
export const filePath: ReadValue<string> = (value, place) => {
  return absolute(checked(path, text(value, place)), place);
};

export const storeUrl: ReadValue<string> = (value, place) => {
  const url = text(value, place);
  if (!/^[a-z][a-z0-9+.-]+:/iu.test(url)) return absolute(url, place);
  // A file that a URL names is relative to this one, too.
  return url.replace(/([?&]sse-c-key=)([^&#]+)/u, (all, name: string, file: string) => {
    if (!canDecode(file)) return all;
    return name + encodeURIComponent(absolute(decodeURIComponent(file), place));
  });
};

export const identities: ReadValue<readonly IdentitySource[]> = (value, place) =>
  texts(value).map((item) => {
    const source = identitySource(item, (given) => filePath(given, place));
    if (source.kind === "keychain") checkKeychainName(source.name);
    return source;
  });

export const identityCommand: ReadValue<IdentitySource> = (value, { file, line, env }) => {
  const from = `identity-command (${file}:${line})`;
  const command = Array.isArray(value) ? texts(value) : text(value, { file, line, env });
  return { kind: "command", command, from, folder: dirname(file), env };
};

export const recipients: ReadValue<readonly RecipientSource[]> = (value, place) =>
  texts(value).map((item) =>
    item.startsWith("idk1")
      ? { kind: "recipient", text: item }
      : { kind: "file", path: filePath(item, place) },
  );

export const compress: ReadValue<string> = (value, place) =>
  checked(compression, text(value, place));

export const workerCount: ReadValue<string> = (value) => {
  if (typeof value !== "number") throw new Error("takes a number, without quotes");
  return checked(workers, `${value}`);
};

export const chunkLength: ReadValue<string> = (value) => {
  if (typeof value === "boolean" || typeof value === "object") throw new Error('takes "4M" or so');
  return checked(chunkSize, `${value}`);
};

export const yesOrNo: ReadValue<boolean> = (value) => {
  if (typeof value === "boolean") return value;
  throw new Error("takes true or false, without quotes");
};

function texts(value: TomlValue): readonly string[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.length > 0 && items.every((item) => typeof item === "string" && item !== "")) {
    return items;
  }
  throw new Error('takes a text in quotes, or a list of them: ["…", "…"]');
}

function absolute(path: string, { file, env }: Place): string {
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
