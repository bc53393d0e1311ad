import type { Address } from "@idk/storage";
import { resolveAddress } from "../../blobs/address.ts";
import { onlyAddress } from "../../blobs/address-list.ts";
import { forEachAddress, ROOTS_AT_ONCE } from "../../blobs/run-many.ts";
import { type Command, command } from "../../command.ts";
import {
  addresses,
  identitySources,
  optional,
  overrides,
  passphrase,
  path,
  paths,
  store,
  texts,
} from "../../config/settings.ts";
import { reportOverrides } from "../../config/overrides.ts";
import { usage } from "../../errors/failures.ts";
import { loadIdentities } from "../../keys/identities.ts";
import type { RecipientSource } from "../../keys/recipient-source.ts";
import { loadRecipients } from "../../keys/recipients.ts";
import { count } from "../../output/text.ts";
import { openStore } from "../../stores/open-store.ts";

/**
 * Writes a new root for the given recipients and the user's own. Ignores IDK_RECIPIENTS and the
 * configuration, which name the recipients of new content.
 */
export const share: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
    store,
    recipient: texts,
    recipientsFile: paths,
    identity: identitySources,
    passphrase,
    overrides,
  },
  async (settings, session) => {
    const { out, signal } = session;
    const only = onlyAddress(settings);
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
    const printReaders = async (address: string): Promise<void> => {
      await out.note(`idk: ${count(readers.length, "recipient")} can read the ${address}:`);
      for (const reader of readers) {
        await out.note(`  ${reader}${own.has(reader) ? " (yours)" : ""}`);
      }
    };
    if (only === undefined) {
      let several = 0;
      await forEachAddress(
        settings,
        opened,
        {
          command: "share",
          concurrency: ROOTS_AT_ONCE,
          summary: (addresses) => `shared ${count(addresses, "address")}`,
          async work(previous, stop) {
            const { recipients: before } = await opened.stat(previous, { signal: stop });
            const shared = await opened.rewrap(previous, readers, { signal: stop });
            if (before > 1) several += 1;
            await out.result(`${shared}  ${previous}`, {
              ok: true,
              ...shareJson(shared, previous, readers, before),
              ...used,
            });
            await out.flush();
          },
          async notes() {
            if (out.json) return;
            await printReaders("new addresses");
            if (several > 0) {
              await out.note(
                `idk: note: ${several} of the old roots ${several === 1 ? "has" : "have"} several recipients ` +
                  "and do not list them. Recipients not listed here cannot open the new addresses; to " +
                  "include them, share again with -r for each",
              );
            }
            await out.note(
              "idk: note: the old roots stay until you remove them with `idk rm` (without --tree, because " +
                "both share the chunks); anyone who kept a copy can still read them. Pass rm the list " +
                "that you gave here, not this output",
            );
          },
        },
        session,
      );
      return;
    }
    const previous = await resolveAddress(opened, only, signal);
    const { recipients: before, depth } = await opened.stat(previous, { signal });
    const shared = await opened.rewrap(previous, readers, { signal });
    await out.result(shared, { ...shareJson(shared, previous, readers, before), ...used });
    await out.flush();
    if (out.json) return;
    await printReaders("new address");
    if (before > 1) {
      await out.note(
        `idk: note: ${previous} has ${before} recipients and does not list them. Recipients not listed ` +
          "here cannot open the new address; to include them, share again with -r for each",
      );
    }
    const tree = depth === 0 ? "" : " (without --tree, because both share the chunks)";
    await out.note(
      `idk: note: ${previous} stays until you remove it with \`idk rm\`${tree}; anyone who kept a copy ` +
        "can still read it",
    );
  },
);

function shareJson(
  address: Address,
  previous: Address,
  recipients: readonly string[],
  previousRecipients: number,
): object {
  return { address, previous, recipients, previousRecipients };
}
