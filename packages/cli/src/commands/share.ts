import { resolveAddress } from "../blobs/address.ts";
import { type Command, command } from "../command.ts";
import {
  address,
  identitySources,
  overrides,
  passphrase,
  paths,
  recipients,
  store,
  texts,
} from "../config/settings.ts";
import { reportOverrides } from "../config/overrides.ts";
import { usage } from "../errors/failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { loadRecipients, type RecipientSource } from "../keys/recipients.ts";
import { count } from "../output/text.ts";
import { openStore } from "../stores/open-store.ts";

/**
 * Writes a new root for the given recipients and the user's own. Ignores IDK_RECIPIENTS and the
 * configuration, which name the recipients of new content.
 */
export const share: Command = command(
  {
    address,
    store,
    recipient: texts,
    recipientsFile: paths,
    identity: identitySources,
    passphrase,
    overrides,
  },
  async (settings, session) => {
    const { out, signal } = session;
    const named: RecipientSource[] = [
      ...settings.recipient.map((text) => ({ kind: "recipient" as const, text })),
      ...settings.recipientsFile.map((path) => ({ kind: "file" as const, path })),
    ];
    if (named.length === 0) {
      throw usage("name a recipient with -r RECIPIENT or -R FILE; share ignores IDK_RECIPIENTS");
    }
    const others = await loadRecipients(named);
    const identities = await loadIdentities(settings, session);
    const own = new Set<string>(identities.map(({ recipient }) => recipient));
    const readers = [...new Set<string>([...own, ...others])];

    const used = await reportOverrides(settings.overrides, readers, session);
    await using opened = await openStore(settings.store, session, { identities });
    const previous = await resolveAddress(opened, settings.address, signal);
    const { recipients: before, depth } = await opened.stat(previous, { signal });
    const shared = await opened.rewrap(previous, readers, { signal });
    await out.result(shared, {
      address: shared,
      previous,
      recipients: readers,
      previousRecipients: before,
      ...used,
    });
    await out.flush();
    if (out.json) return;
    await out.note(`idk: ${count(readers.length, "recipient")} can read the new address:`);
    for (const reader of readers) await out.note(`  ${reader}${own.has(reader) ? " (yours)" : ""}`);
    if (before > 1) {
      await out.note(
        `idk: note: ${previous} has ${before} recipients and does not list them. Recipients not listed ` +
          "here cannot read the new address; to include them, share again with -r for each",
      );
    }
    const tree = depth === 0 ? "" : " (without --tree, because both share the chunks)";
    await out.note(
      `idk: note: recipients of ${previous} can still read it until you remove it with \`idk rm\`${tree}`,
    );
  },
);

export const rewrap: Command = command(
  { address, store, recipients, identity: identitySources, passphrase, overrides },
  async (settings, session) => {
    const { out, signal } = session;
    const to = await loadRecipients(settings.recipients);
    const identities = await loadIdentities(settings, session);
    const used = await reportOverrides(settings.overrides, to, session);
    await using opened = await openStore(settings.store, session, { identities });
    const previous = await resolveAddress(opened, settings.address, signal);
    const rewrapped = await opened.rewrap(previous, to, { signal });
    await out.result(rewrapped, { address: rewrapped, previous, ...used });
    await out.note(
      `idk: note: recipients of ${previous} can still read it until you remove it with \`idk rm\``,
    );
  },
);
