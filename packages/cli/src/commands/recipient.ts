import { type Command, command } from "../command.ts";
import { identitySources, passphrase } from "../settings.ts";
import { loadIdentities } from "../identities.ts";

export const recipient: Command = command(
  { identity: identitySources, passphrase },
  async (settings, session) => {
    for (const identity of await loadIdentities(settings, session)) {
      await session.out.result(identity.recipient, { recipient: identity.recipient });
    }
  },
);
