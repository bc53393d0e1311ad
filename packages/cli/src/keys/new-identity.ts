import { formatIdentity, generateIdentity, protectIdentity, type Recipient } from "@idk/storage";
import { open, rm } from "node:fs/promises";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import type { Session } from "../session.ts";
import { openTerminal } from "./terminal.ts";

/**
 * Makes an identity in a file for its owner alone, which must not be there yet.
 *
 * @param passphrase gives what protects it; undefined for an identity as text
 * @returns its recipient
 */
export async function writeNewIdentity(
  path: string,
  passphrase: (() => Promise<string>) | undefined,
): Promise<Recipient> {
  const identity = await generateIdentity();
  const { recipient } = identity;
  await writeNew(path, async () =>
    passphrase === undefined
      ? Buffer.from(`# recipient: ${recipient}\n${formatIdentity(identity)}\n`)
      : await protectIdentity(identity, await passphrase()),
  );
  return recipient;
}

/** Makes an identity in the secret store of the system. */
export async function fileNewIdentity(name: string): Promise<Recipient> {
  const { addToKeychain } = await import("./keychain.ts");
  const identity = await generateIdentity();
  await addToKeychain(name, formatIdentity(identity));
  return identity.recipient;
}

/**
 * Asks twice for a new passphrase.
 *
 * @param without what to do for no passphrase, for messages
 */
export async function askNewPassphrase(session: Session, without: string): Promise<string> {
  const terminal = openTerminal(session.signal);
  if (terminal === undefined) {
    throw usage(
      `there is no terminal to ask for a passphrase: set IDK_PASSPHRASE; ${without} for none`,
    );
  }
  const first = await terminal.askSecret("New passphrase: ");
  if (first === "") throw usage(`the passphrase is empty: ${without} for none`);
  const second = await terminal.askSecret("The same again: ");
  if (first !== second) throw usage("the two passphrases differ");
  return first;
}

/**
 * Creates the file before its content is asked for, so that nobody types a passphrase in vain, and
 * removes it where that fails.
 */
async function writeNew(path: string, content: () => Promise<Uint8Array>): Promise<void> {
  const handle = await open(path, "wx", 0o600).catch((error: unknown) => {
    if (systemCodeOf(error) === "EEXIST") {
      throw usage(`${path} already exists, and an identity is never overwritten`);
    }
    throw usage(`cannot create ${path}: ${reasonOf(error)}`, error);
  });
  try {
    const bytes = await content();
    await handle.writeFile(bytes).catch((error: unknown) => {
      throw new Failure("output", `cannot write ${path}: ${reasonOf(error)}`, error);
    });
    await handle.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
