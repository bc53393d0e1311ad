import { type Command, command } from "../../command.ts";
import { identitySources, newPath, passphrase } from "../../config/settings.ts";
import { usage } from "../../errors/failures.ts";
import { formatMacKey } from "../../gateway/mac-key-file.ts";
import { loadIdentities } from "../../keys/identities.ts";
import { writeNewKey } from "../../keys/new-identity.ts";

/** Writes the key with which a write-only gateway authenticates what it stores. */
export const gatewayMacKey: Command = command(
  { output: newPath, identity: identitySources, passphrase },
  async (settings, session) => {
    const { output } = settings;
    if (output === "-") throw usage("the key is secret: write it to a file with -o FILE, not to -");
    const [identity] = await loadIdentities(settings, session);
    if (identity === undefined) throw usage("no identity: name one with -i FILE");
    await writeNewKey(output, "keys", async () => Buffer.from(formatMacKey(identity)));
    await session.out.report({ file: output });
  },
);
