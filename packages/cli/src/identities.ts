import { type Identity, StorageError, readIdentityFile } from "@idk/storage";
import { Failure, usage } from "./failures.ts";
import type { Session } from "./session.ts";
import { openTerminal } from "./terminal.ts";
import { readSecretFile } from "./files.ts";

/** The settings of every command that opens something. */
export interface IdentitySettings {
  readonly identity: readonly string[];
  readonly passphrase: string | undefined;
}

/** Reads all identity files; asks for passphrases where the environment gives none. */
export async function loadIdentities(
  { identity: paths, passphrase }: IdentitySettings,
  session: Session,
): Promise<Identity[]> {
  if (paths.length === 0) {
    throw usage(
      "no identity: name its file with -i FILE or in IDK_IDENTITY (`idk keygen -o FILE` makes one)",
    );
  }
  const identities: Identity[] = [];
  for (const path of paths) {
    const bytes = await readSecretFile(path, "identity file", session);
    try {
      identities.push(...(await readIdentityFile(bytes, passphrase ?? (() => ask(path, session)))));
    } catch (error) {
      // The code stays; the message must say which of the files it is about.
      if (!(error instanceof StorageError)) throw error;
      throw new Failure(error.code, `identity file ${path}: ${error.message}`, error);
    }
  }
  return identities;
}

async function ask(path: string, session: Session): Promise<string> {
  const terminal = openTerminal(session.signal);
  if (terminal === undefined) {
    throw usage(
      `the identity file ${path} is protected and there is no terminal to ask for its passphrase: set IDK_PASSPHRASE`,
    );
  }
  try {
    return await terminal.askSecret(`Passphrase for ${path}: `);
  } finally {
    terminal.close();
  }
}
