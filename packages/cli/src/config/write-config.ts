import { appendFile, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import type { Environment } from "../invocation.ts";
import { readConfig } from "./read-config.ts";

export interface NewConfig {
  /** As the file is to write it: a file, or keychain:NAME. */
  readonly identity: string;
  readonly recipient: string;
  readonly store: { readonly name: string; readonly url: string };
}

/** Writes a configuration file, which must not be there yet. */
export async function writeNewConfig(path: string, config: NewConfig): Promise<void> {
  await createFolder(dirname(path));
  const handle = await open(path, "wx", 0o600).catch((error: unknown) => {
    if (systemCodeOf(error) === "EEXIST") throw usage(`${path} appeared meanwhile: try again`);
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  });
  try {
    await handle.writeFile(textOf(config));
    await handle.sync();
  } catch (error) {
    throw new Failure("output", `cannot write ${path}: ${reasonOf(error)}`, error);
  } finally {
    await handle.close();
  }
}

function textOf({ identity, recipient, store }: NewConfig): string {
  return `# Relative paths start from the folder of this file. \`idk config\` shows what is in force.
default = ${quoted(store.name)}
identity = ${quoted(identity)}
recipients = [${quoted(recipient)}]

[store.${quoted(store.name)}]
url = ${quoted(store.url)}
`;
}

/** A text as TOML writes it. JSON escapes all that TOML wants escaped but one character. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

/**
 * Finds out how one more store is written at the end of a configuration file. All else in it stays
 * as it is.
 *
 * @returns what writes it, once the store is there
 * @throws Failure `usage` where the file has its stores in a form that nothing can be added to
 */
export async function storeAddition(
  path: string,
  store: { readonly name: string; readonly url: string },
  env: Environment,
): Promise<() => Promise<void>> {
  const added = `\n[store.${quoted(store.name)}]\nurl = ${quoted(store.url)}\n`;
  const cannot = (error: unknown) =>
    usage(`cannot add the store to ${path}, do so by hand: ${reasonOf(error)}`, error);
  try {
    const text = await readFile(path, "utf8");
    const tail = text === "" || text.endsWith("\n") ? added : `\n${added}`;
    readConfig(text + tail, path, env);
    return async () => {
      // Not a new file in its place: it may be a link, and have a mode of its own.
      await appendFile(path, tail, { flush: true }).catch((error: unknown) => {
        throw cannot(error);
      });
    };
  } catch (error) {
    throw cannot(error);
  }
}
