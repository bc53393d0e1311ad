import { type Command, command } from "../command.ts";
import { Failure, reasonOf, systemCodeOf, usage } from "../failures.ts";
import { flag, passphrase, path } from "../settings.ts";
import { formatIdentity, generateIdentity, protectIdentity } from "@idk/storage";
import { open, rm } from "node:fs/promises";
import type { Session } from "../session.ts";
import { openTerminal } from "../terminal.ts";

export const keygen: Command = command(
  { output: path, protect: flag, passphrase },
  async ({ output, protect, passphrase: given }, session) => {
    if (output === "-") throw usage("an identity is secret: give a file with -o FILE, not -");
    const identity = await generateIdentity();
    const { recipient } = identity;
    await writeNew(output, async () =>
      protect
        ? await protectIdentity(identity, given ?? (await askTwice(session)))
        : Buffer.from(`# recipient: ${recipient}\n${formatIdentity(identity)}\n`),
    );
    await session.out.result(recipient, { recipient, file: output });
  },
);

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

async function askTwice(session: Session): Promise<string> {
  const terminal = openTerminal(session.signal);
  if (terminal === undefined) {
    throw usage("there is no terminal to ask for a passphrase: set IDK_PASSPHRASE");
  }
  try {
    const first = await terminal.askSecret("New passphrase: ");
    if (first === "") throw usage("the passphrase is empty: without --passphrase there is none");
    const second = await terminal.askSecret("The same again: ");
    if (first !== second) throw usage("the two passphrases differ");
    return first;
  } finally {
    terminal.close();
  }
}
