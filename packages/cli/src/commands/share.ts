import { resolveAddress } from "../blobs/address.ts";
import { removeTree } from "../blobs/remove-tree.ts";
import { resealContent } from "../blobs/reseal.ts";
import { type Command, command } from "../command.ts";
import {
  address,
  choice,
  flag,
  folders,
  identitySources,
  maxSize,
  overrides,
  passphrase,
  paths,
  recipients,
  store,
  texts,
  workers,
} from "../config/settings.ts";
import { reportOverrides } from "../config/overrides.ts";
import { usage } from "../errors/failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { loadRecipients, type RecipientSource } from "../keys/recipients.ts";
import { openTerminal } from "../keys/terminal.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
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

export const rewrap: Command = command(
  {
    address,
    store,
    recipients,
    identity: identitySources,
    passphrase,
    overrides,
    reseal: flag,
    maxSize,
    deleteOld: flag,
    yes: flag,
    resume: choice,
    workers,
    folders,
  },
  async (settings, session) => {
    const { out, signal } = session;
    checkReseal(settings, session);
    const to = await loadRecipients(settings.recipients);
    const identities = await loadIdentities(settings, session);
    const used = await reportOverrides(settings.overrides, to, session);
    await using opened = await openStore(settings.store, session, {
      identities,
      workers: settings.workers,
    });
    const previous = await resolveAddress(opened, settings.address, signal);
    if (!settings.reseal) {
      const rewrapped = await opened.rewrap(previous, to, { signal });
      await out.result(rewrapped, { address: rewrapped, previous, ...used });
      await out.flush();
      await out.note(
        `idk: note: recipients of ${previous} can keep reading what they could read, even after ` +
          "`idk rm`, if they kept a copy of it; new content is closed to them. To store this content " +
          "under new keys, add --reseal",
      );
      return;
    }
    await resealContent(opened, previous, to, settings, used, session);
    if (!settings.deleteOld) {
      if (out.json) return;
      await out.note(
        `idk: note: the tree of ${previous} stays, and its recipients can read it. If no other root ` +
          `shares its chunks, delete it with \`idk rm --tree ${previous}\``,
      );
      return;
    }
    const effect = "; other roots that share its chunks lose their content";
    const askAbove = settings.yes ? Infinity : 0;
    const removal = { force: false, askAbove, effect, printAddress: true };
    await removeTree(opened, previous, removal, session);
    if (!out.json) await out.note("idk: note: its recipients keep only what they copied");
  },
);

interface ResealFlags {
  readonly reseal: boolean;
  readonly maxSize: number | undefined;
  readonly deleteOld: boolean;
  readonly yes: boolean;
  readonly resume: boolean | undefined;
}

/** Fails before anything is stored if the old tree could not be deleted afterwards. */
function checkReseal(
  { reseal, maxSize, deleteOld, yes, resume }: ResealFlags,
  { signal }: Pick<Session, "signal">,
): void {
  if (deleteOld && !reseal) {
    throw usage("--delete-old needs --reseal: without it, both roots share the chunks");
  }
  if (yes && !deleteOld) throw usage("--yes applies to --delete-old");
  if (maxSize !== undefined && !reseal) throw usage("--max-size applies to --reseal");
  if (resume === true && !reseal) throw usage("--resume applies to --reseal");
  if (deleteOld && !yes && openTerminal(signal) === undefined) {
    throw usage("--delete-old asks before it deletes, and there is no terminal: pass --yes");
  }
}
