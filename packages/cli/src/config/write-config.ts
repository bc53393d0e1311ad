import { readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import type { Environment } from "../invocation.ts";
import { createFile, replaceFile } from "../replace-file.ts";
import { readConfig } from "./read-config.ts";

export interface NewConfig {
  /** A path, or keychain:NAME. */
  readonly identity: string;
  readonly recipient: string;
  readonly store: { readonly name: string; readonly url: string };
}

/** Writes a new configuration file, all of it or none. */
export async function writeNewConfig(path: string, config: NewConfig): Promise<void> {
  await createFolder(dirname(path));
  await createFile(path, textOf(config), 0o600).catch((error: unknown) => {
    if (systemCodeOf(error) === "EEXIST")
      throw usage(`${path} was created by another program: try again`);
    throw new Failure("output", `cannot write ${path}: ${reasonOf(error)}`, error);
  });
}

function textOf({ identity, recipient, store }: NewConfig): string {
  return `# Relative paths start from the folder of this file. \`idk config\` shows the effective settings.
default = ${quoted(store.name)}
identity = ${quoted(identity)}
recipients = [${quoted(recipient)}]

[store.${quoted(store.name)}]
url = ${quoted(store.url)}
`;
}

/** A TOML string. JSON escapes all that TOML requires except one character. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

/**
 * Checks that a store can be appended to a configuration file.
 *
 * @returns a function that appends it, to be called when the store exists
 * @throws Failure `usage` if the file defines its stores in a form that cannot be extended
 */
export async function storeAddition(
  path: string,
  store: { readonly name: string; readonly url: string },
  env: Environment,
): Promise<() => Promise<void>> {
  const add = adding([`[store.${quoted(store.name)}]`, `url = ${quoted(store.url)}`]);
  const cannot = (error: unknown) =>
    usage(`cannot add the store to ${path}: ${reasonOf(error)}; add it by hand`, error);
  try {
    await editedConfig(path, add, env);
  } catch (error) {
    throw cannot(error);
  }
  return async () =>
    editConfig(path, add, env).catch((error: unknown) => {
      throw cannot(error);
    });
}

/** An edit that adds a table at the end, after a blank line. */
export function adding(table: readonly string[]): (lines: string[]) => void {
  return (lines) => {
    if (lines.at(-1) !== "") lines.push("");
    lines.push(...table, "");
  };
}

/**
 * Changes lines of a configuration file. It is replaced as a whole, so that a crash leaves the old or
 * the new one.
 *
 * @param edit changes the lines in place
 * @throws Error if the result is no valid configuration
 */
export async function editConfig(
  path: string,
  edit: (lines: string[]) => void,
  env: Environment,
): Promise<void> {
  const text = await editedConfig(path, edit, env);
  // A link to the file stays one.
  const file = await realpath(path);
  await replaceFile(file, text, (await stat(file)).mode & 0o777);
}

async function editedConfig(
  path: string,
  edit: (lines: string[]) => void,
  env: Environment,
): Promise<string> {
  const lines = (await readFile(path, "utf8")).split("\n");
  edit(lines);
  const text = lines.join("\n");
  readConfig(text, path, env);
  return text;
}
