import { type Command, command } from "../command.ts";
import { field, flag, identitySources, optional, passphrase, path } from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { checkKeychainName } from "../keys/identity-source.ts";
import { askNewPassphrase, fileNewIdentity, writeNewIdentity } from "../keys/new-identity.ts";

export const keygen: Command = command(
  {
    output: optional(path),
    keychain: optional(field(checkKeychainName)),
    protect: flag,
    passphrase,
  },
  async ({ output, keychain, protect, passphrase: given }, session) => {
    if (keychain !== undefined) {
      if (output !== undefined)
        throw usage("-o and --keychain exclude each other: give one of them");
      if (protect) throw usage("--passphrase is for files: a keychain is locked by its own");
      const recipient = await fileNewIdentity(keychain);
      await session.out.result(recipient, { recipient, keychain });
      return;
    }
    if (output === undefined)
      throw usage("name the identity's file with -o FILE, or --keychain NAME");
    if (output === "-") throw usage("an identity is secret: give a file with -o FILE, not -");
    const ask = async () => given ?? (await askNewPassphrase(session, "leave --passphrase out"));
    const recipient = await writeNewIdentity(output, protect ? ask : undefined);
    await session.out.result(recipient, { recipient, file: output });
  },
);

export const recipient: Command = command(
  { identity: identitySources, passphrase },
  async (settings, session) => {
    for (const identity of await loadIdentities(settings, session)) {
      await session.out.result(identity.recipient, { recipient: identity.recipient });
    }
  },
);
