import { type Command, command } from "../command.ts";
import { address, identityFiles, passphrase, recipients, store } from "../settings.ts";
import { loadIdentities } from "../identities.ts";
import { loadRecipients } from "../recipients.ts";
import { openStore } from "../open-store.ts";

export const rewrap: Command = command(
  { address, store, recipients, identity: identityFiles, passphrase },
  async (settings, session) => {
    const { out, signal } = session;
    const to = await loadRecipients(settings.recipients);
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    const rewrapped = await opened.rewrap(settings.address, to, { signal });
    await out.result(rewrapped, { address: rewrapped, previous: settings.address });
    await out.note(
      `idk: note: ${settings.address} can still be read by its recipients until you remove it: idk rm`,
    );
  },
);
