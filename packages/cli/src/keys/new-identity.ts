import {
  formatIdentity,
  generateIdentity,
  type Identity,
  protectIdentity,
  type Recipient,
} from "@idk/storage";
import { existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { createFolder, syncFolder } from "../folders.ts";
import { openInput } from "../input/input.ts";
import type { Session } from "../session.ts";
import { openIdentities } from "./identities.ts";
import { readSecretFile } from "./key-files.ts";
import { openTerminal } from "./terminal.ts";

/**
 * Creates an identity in a new file that only its owner can read.
 *
 * @param passphrase returns the passphrase; undefined for an unprotected identity
 * @param armor whether to write a protected identity as text
 * @returns its recipient
 */
export async function writeNewIdentity(
  path: string,
  passphrase: (() => Promise<string>) | undefined,
  armor = false,
): Promise<Recipient> {
  const identity = await generateIdentity();
  const { recipient } = identity;
  await writeNewKey(path, "identities", async () =>
    passphrase === undefined
      ? identityText(identity)
      : await protectIdentity(identity, await passphrase(), { armor }),
  );
  return recipient;
}

/** The content of an identity file without a passphrase. Secret. */
export function identityText(identity: Identity): Uint8Array {
  return Buffer.from(`# recipient: ${identity.recipient}\n${formatIdentity(identity)}\n`);
}

/**
 * Copies an identity file, as it is, to a new file that only its owner can read. A file that is there
 * already stays, and has to be the same.
 *
 * @param from `-` for standard input
 * @returns the recipient of its first identity
 */
export async function copyIdentity(
  from: string,
  path: string,
  passphrase: string | undefined,
  session: Session,
): Promise<{ readonly recipient: Recipient; readonly state: "copied" | "there" }> {
  const name = from === "-" ? "identity on standard input" : `identity file ${from}`;
  const bytes =
    from === "-"
      ? await readStandardInput(name, session)
      : await readSecretFile(from, "identity file", session);
  const [identity] = await openIdentities(bytes, name, passphrase, session);
  if (identity === undefined) throw usage(`the ${name} is empty`);
  const { recipient } = identity;
  if (existsSync(path)) {
    const there = await readSecretFile(path, "identity file", session);
    if (Buffer.compare(there, bytes) === 0) return { recipient, state: "there" };
    throw usage(
      `${path} already exists and is not the ${name}: name another file with -o, or omit -i to use it`,
    );
  }
  await createFolder(dirname(path));
  await writeNewKey(path, "identities", async () => bytes);
  return { recipient, state: "copied" };
}

/** Identity files are short. */
const INPUT_MAX = 2 ** 20;

async function readStandardInput(
  name: string,
  { signal }: Pick<Session, "signal">,
): Promise<Uint8Array> {
  const { content } = await openInput("-", { signal });
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of content) {
    length += piece.length;
    if (length > INPUT_MAX) throw usage(`the ${name} is too long`);
    pieces.push(piece.slice());
  }
  return Buffer.concat(pieces);
}

/** Creates an identity in the keychain. */
export async function addNewIdentityToKeychain(name: string): Promise<Recipient> {
  const { addToKeychain } = await import("./keychain.ts");
  const identity = await generateIdentity();
  await addToKeychain(name, formatIdentity(identity));
  return identity.recipient;
}

/** How often a passphrase that was repeated differently is asked for. */
const ATTEMPTS = 3;

/**
 * Prompts twice for a new passphrase, and again if the two differ.
 *
 * @param alternative how to use no passphrase, for messages
 * @param variable what would provide it without a prompt, for messages
 */
export async function askNewPassphrase(
  session: Session,
  alternative: string,
  variable = "IDK_PASSPHRASE",
): Promise<string> {
  const terminal = openTerminal(session.signal);
  if (terminal === undefined) {
    throw usage(
      `there is no terminal to prompt for a passphrase: set ${variable}, or ${alternative}`,
    );
  }
  for (let left = ATTEMPTS; left > 0; left--) {
    const again = left === ATTEMPTS ? "" : "The two passphrases differ. ";
    const first = await terminal.askSecret(`${again}New passphrase: `);
    if (first === "") throw usage(`the passphrase is empty: ${alternative} to use none`);
    const second = await terminal.askSecret("Repeat the passphrase: ");
    if (first === second) return first;
  }
  throw usage(`the two passphrases differed ${ATTEMPTS} times: run the command again`);
}

/**
 * Creates a key file that only its owner can read. Does so before prompting for a passphrase, so that
 * none is typed in vain, and removes it on failure.
 *
 * @param what the kind of keys, for messages
 */
export async function writeNewKey(
  path: string,
  what: string,
  content: () => Promise<Uint8Array>,
): Promise<void> {
  const handle = await open(path, "wx", 0o600).catch((error: unknown) => {
    if (systemCodeOf(error) === "EEXIST") {
      throw usage(`${path} already exists, and ${what} are never overwritten`);
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
  // The user may delete the file that this one is a copy of.
  await syncFolder(dirname(path));
}
