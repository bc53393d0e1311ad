import { type Command, command } from "../../command.ts";
import {
  choice,
  field,
  flag,
  identitySources,
  newPath,
  optional,
  passphrase,
} from "../../config/settings.ts";
import { usage } from "../../errors/failures.ts";
import { loadIdentities } from "../../keys/identities.ts";
import { checkKeychainName } from "../../keys/identity-source.ts";
import {
  askNewPassphrase,
  addNewIdentityToKeychain,
  writeNewIdentity,
} from "../../keys/new-identity.ts";

export const keygen: Command = async (invocation, session) => {
  const { change, identity } = invocation.options;
  if (change !== true) {
    if (identity !== undefined) throw usage("-i is for --change: name a new file with -o FILE");
    return create(invocation, session);
  }
  const { changePassphrase } = await import("./change-passphrase.ts");
  return changePassphrase(invocation, session);
};

const create: Command = command(
  {
    output: optional(newPath),
    keychain: optional(field(checkKeychainName)),
    writer: flag,
    protect: choice,
    armor: flag,
    passphrase,
  },
  async ({ output, keychain, writer: forWriter, protect, armor, passphrase: given }, session) => {
    if (keychain !== undefined) {
      if (forWriter) throw usage("a writer key is for backups that run by themselves: use -o FILE");
      if (output !== undefined) throw usage("-o and --keychain exclude each other");
      if (protect) throw usage("--passphrase is for files: the keychain has its own protection");
      const recipient = await addNewIdentityToKeychain(keychain);
      await session.out.result(recipient, { recipient, keychain });
      return;
    }
    if (armor && protect !== true) {
      throw usage("--armor is for --passphrase: a file without a passphrase is text already");
    }
    if (output === undefined) {
      throw usage(
        forWriter
          ? "name the file of the writer key with -o FILE"
          : "name the identity file with -o FILE, or use --keychain NAME",
      );
    }
    if (output === "-") {
      const what = forWriter ? "a writer key" : "an identity";
      throw usage(`${what} is secret: write it to a file with -o FILE, not to -`);
    }
    const ask = async () => given ?? (await askNewPassphrase(session, "omit --passphrase"));
    if (forWriter) {
      // Load the code of snapshots only if it is needed.
      const { writeNewWriterKey } = await import("../../keys/writer-keys.ts");
      const writer = await writeNewWriterKey(output, protect ? ask : undefined, armor);
      await session.out.result(writer, { writer, file: output });
    } else {
      const recipient = await writeNewIdentity(output, protect ? ask : undefined, armor);
      await session.out.result(recipient, { recipient, file: output });
    }
    if (given !== undefined && !protect) {
      await session.out.note(
        "idk: note: the key is not protected: IDK_PASSPHRASE is used only with --passphrase",
      );
    }
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
