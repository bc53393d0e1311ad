import { type Command, command } from "../command.ts";
import { askNewPassphrase, fileNewIdentity, writeNewIdentity } from "../new-identity.ts";
import { field, flag, optional, passphrase, path } from "../settings.ts";
import { checkKeychainName } from "../identity-source.ts";
import { usage } from "../failures.ts";

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
