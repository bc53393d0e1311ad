import { generateIdentity, protectIdentity } from "@idk/storage";
import { writeFileSync } from "node:fs";

/**
 * Writes an identity file with a passphrase, by default at the lowest cost, because opening one of `idk keygen`
 * takes a third of a second.
 *
 * @returns the recipient
 */
export async function writeProtected(file: string, passphrase: string, logN = 14): Promise<string> {
  const identity = await generateIdentity();
  writeFileSync(file, await protectIdentity(identity, passphrase, { logN }), { mode: 0o600 });
  return identity.recipient;
}
