import { type Identity, loadNaCl, readIdentityFile, StorageError } from "@idk/storage";
import { codeOf, Failure, usage } from "../errors/failures.ts";
import type { Session } from "../session.ts";
import { describeSource, type IdentitySource } from "./identity-source.ts";
import { readSecretFile } from "./key-files.ts";
import { openTerminal } from "./terminal.ts";

/** The settings of every command that decrypts. */
export interface IdentitySettings {
  readonly identity: readonly IdentitySource[];
  readonly passphrase: string | undefined;
}

/** Reads all identities. Prompts for passphrases unless the environment provides one. */
export async function loadIdentities(
  { identity: sources, passphrase }: IdentitySettings,
  session: Session,
): Promise<Identity[]> {
  if (sources.length === 0) {
    throw usage(
      "no identity: name its file with -i FILE or in IDK_IDENTITY " +
        "(create one with `idk init` or `idk keygen -o FILE`)",
    );
  }
  const identities: Identity[] = [];
  for (const source of sources) {
    const bytes = await read(source, session);
    const name = describeSource(source);
    identities.push(...(await openIdentities(bytes, name, passphrase, session)));
  }
  return identities;
}

/**
 * Opens the content of an identity file. Prompts for the passphrase if it needs one that is not given.
 *
 * @param name where it comes from, for messages
 */
export async function openIdentities(
  bytes: Uint8Array,
  name: string,
  passphrase: string | undefined,
  session: Session,
): Promise<Identity[]> {
  await loadForPublicKeys();
  try {
    return await readIdentityFile(bytes, passphrase ?? (() => promptPassphrase(name, session)));
  } catch (error) {
    // Keep the code, and name the source in the message.
    if (!(error instanceof StorageError)) throw error;
    const fault = error.code === "key" ? await faultOf(bytes) : undefined;
    throw new Failure(error.code, `${name}: ${fault ?? error.message}`, error);
  }
}

/**
 * Has libsodium compute the public keys. Opening content loads it anyway, and `node:crypto`, which
 * computes them otherwise, takes longer to load than everything else that a get of a small blob needs.
 */
async function loadForPublicKeys(): Promise<void> {
  await loadNaCl();
}

/** What is wrong with a file that is not one of identities, if it is another key or has no lines. */
async function faultOf(bytes: Uint8Array): Promise<string | undefined> {
  const { lacksLineEnds, secretIn } = await import("./key-kinds.ts");
  const held = secretIn(bytes);
  if (held !== undefined && held !== "an identity") return `this is ${held}, not an identity`;
  return lacksLineEnds(bytes)
    ? "its line ends are missing: keep each line of the armor on a line of its own"
    : undefined;
}

/**
 * The identities that can be read without a question, for a command that does without if there are
 * none: a keychain or a command may ask, and a file whose passphrase is not known.
 */
export async function loadUnasked(
  { identity: sources, passphrase }: IdentitySettings,
  session: Session,
): Promise<Identity[]> {
  const identities: Identity[] = [];
  for (const source of sources) {
    if (source.kind !== "file" && source.kind !== "variable") continue;
    try {
      const bytes = await read(source, session);
      await loadForPublicKeys();
      identities.push(...(await readIdentityFile(bytes, passphrase)));
    } catch (error) {
      if (codeOf(error) === "unexpected") throw error;
    }
  }
  return identities;
}

async function read(source: IdentitySource, session: Session): Promise<Uint8Array> {
  switch (source.kind) {
    case "file":
      return readSecretFile(source.path, "identity file", session);
    case "keychain":
      return (await import("./keychain.ts")).readKeychain(source.name);
    case "variable":
      return Buffer.from(source.text);
    case "command":
      return (await import("./identity-command.ts")).runIdentityCommand(source, session);
    default:
      return source satisfies never;
  }
}

/** Prompts for the passphrase of a key. */
export async function promptPassphrase(name: string, session: Session): Promise<string> {
  const terminal = openTerminal(session.signal);
  if (terminal === undefined) {
    throw usage(
      `the ${name} is protected by a passphrase and there is no terminal to prompt on: set IDK_PASSPHRASE`,
    );
  }
  return terminal.askSecret(
    `Passphrase for ${name.replace(/^(?:identity|writer key) file /u, "")}: `,
  );
}
