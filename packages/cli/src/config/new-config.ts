import { Failure, reasonOf, systemCodeOf, usage } from "../failures.ts";
import { open } from "node:fs/promises";
import { createFolder } from "../folder.ts";
import { dirname } from "node:path";

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
