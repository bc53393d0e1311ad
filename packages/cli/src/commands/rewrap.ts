import { type Command, command } from "../command.ts";
import { address, identitySources, passphrase, recipients, store } from "../settings.ts";
import { loadIdentities } from "../identities.ts";
import { loadRecipients } from "../recipients.ts";
import { openStore } from "../open-store.ts";
import { resolveAddress } from "../address-prefix.ts";

export const rewrap: Command = command(
  { address, store, recipients, identity: identitySources, passphrase },
  async (settings, session) => {
    const { out, signal } = session;
    const to = await loadRecipients(settings.recipients);
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    const previous = await resolveAddress(opened, settings.address, signal);
    const rewrapped = await opened.rewrap(previous, to, { signal });
    await out.result(rewrapped, { address: rewrapped, previous });
    await out.note(
      `idk: note: ${previous} can still be read by its recipients until you remove it: idk rm`,
    );
  },
);
