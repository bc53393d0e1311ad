import type { Address, Store } from "@idk/storage";
import { resolveAddress } from "../blobs/address.ts";
import { type AddressSource, onlyAddress } from "../blobs/address-list.ts";
import { removeOldTree, removeTree } from "../blobs/remove-tree.ts";
import { resealContent, type ResealSettings } from "../blobs/reseal.ts";
import { forEachAddress, runMany } from "../blobs/run-many.ts";
import { type Command, command } from "../command.ts";
import {
  addresses,
  choice,
  flag,
  folders,
  identitySources,
  maxSize,
  optional,
  overrides,
  passphrase,
  path,
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
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

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

/** Roots rewritten concurrently; each may take 4 MiB of memory. */
const ROOTS_AT_ONCE = 8;

function shareJson(
  address: Address,
  previous: Address,
  recipients: readonly string[],
  previousRecipients: number,
): object {
  return { address, previous, recipients, previousRecipients };
}

export const rewrap: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
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
    const only = onlyAddress(settings);
    checkReseal(settings, session);
    const to = await loadRecipients(settings.recipients);
    const identities = await loadIdentities(settings, session);
    const used = await reportOverrides(settings.overrides, to, session);
    await using opened = await openStore(settings.store, session, {
      identities,
      workers: settings.workers,
    });
    if (only === undefined) {
      await rewrapMany(opened, to, settings, used, session);
      return;
    }
    const { out, signal } = session;
    const previous = await resolveAddress(opened, only, signal);
    if (settings.reseal) {
      await resealContent(opened, previous, to, settings, used, session);
      if (settings.deleteOld) await deleteOld(opened, previous, settings, session);
    } else {
      const rewrapped = await opened.rewrap(previous, to, { signal });
      await out.result(rewrapped, { address: rewrapped, previous, ...used });
      await out.flush();
    }
    await noteOld(previous, settings, session);
  },
);

/**
 * Content is resealed one after the other: each takes the memory of a get and a put. Old trees may
 * share chunks, so they are deleted when all content has been resealed.
 */
async function rewrapMany(
  opened: Store,
  to: readonly string[],
  settings: AddressSource & ResealFlags & ResealSettings,
  used: object,
  session: Session,
): Promise<void> {
  const { out } = session;
  const { reseal } = settings;
  const old: Address[] = [];
  let deleting = false;
  let deleted = 0;
  await forEachAddress(
    settings,
    opened,
    {
      command: "rewrap",
      concurrency: reseal ? 1 : ROOTS_AT_ONCE,
      summary: (done) => `${reseal ? "resealed" : "rewrapped"} ${count(done, "address")}`,
      async work(previous, stop, meter) {
        if (reseal) {
          await resealContent(opened, previous, to, settings, used, session, meter);
          old.push(previous);
          return;
        }
        const address = await opened.rewrap(previous, to, { signal: stop });
        await out.result(`${address}  ${previous}`, { ok: true, address, previous, ...used });
        await out.flush();
      },
      async finish(failures, meter) {
        if (!settings.deleteOld || failures.count > 0) return;
        deleting = true;
        await runMany(
          old,
          async (previous) => {
            await deleteOld(opened, previous, settings, session, meter);
            deleted += 1;
          },
          { concurrency: 1, failures, nameOf: String, onDone() {}, stopIfRefused: true },
          session,
        );
      },
      left() {
        if (!settings.deleteOld) return undefined;
        return deleting
          ? `${deleted} of ${count(old.length, "old tree")} deleted`
          : "the others are left to do, and no old tree was deleted";
      },
      async notes() {
        if (!settings.deleteOld || (deleting && deleted === old.length)) {
          await noteOld(undefined, settings, session);
        } else if (!out.json) {
          await out.note(
            deleting
              ? `idk: note: ${deleted} of ${count(old.length, "old tree")} deleted completely`
              : NONE_DELETED,
          );
        }
      },
    },
    session,
  );
}

const NONE_DELETED =
  "idk: note: no old tree was deleted: old trees may share chunks, so they are deleted only if all " +
  "content has been resealed";

async function deleteOld(
  opened: Store,
  previous: Address,
  { yes }: ResealFlags,
  session: Session,
  meter?: Meter,
): Promise<void> {
  const effect = "; other roots that share its chunks lose their content";
  const askAbove = yes ? Infinity : 0;
  const details = meter && { ok: true };
  const removal = { force: false, askAbove, effect, printAddress: true, meter, details };
  await (meter === undefined ? removeTree : removeOldTree)(opened, previous, removal, session);
}

/**
 * Notes what the recipients of the old root can still read.
 *
 * @param only undefined if there are several
 */
async function noteOld(
  only: Address | undefined,
  { reseal, deleteOld: deleted }: ResealFlags,
  { out }: Session,
): Promise<void> {
  if (!reseal) {
    await out.note(
      `idk: note: recipients of ${only ?? "the old roots"} can keep reading what they could read, even ` +
        `after \`idk rm\`, if they kept a copy of ${only === undefined ? "them" : "it"}; new content is ` +
        "closed to them. To store this content under new keys, add --reseal",
    );
    return;
  }
  if (out.json) return;
  if (deleted) {
    await out.note(
      `idk: note: ${only === undefined ? "their" : "its"} recipients keep only what they copied`,
    );
    return;
  }
  await out.note(
    only === undefined
      ? "idk: note: the old trees stay, and their recipients can read them. Delete each of which no " +
          "other root shares the chunks with `idk rm --tree`: pass it addresses that you gave here, " +
          "not this output"
      : `idk: note: the tree of ${only} stays, and its recipients can read it. If no other root ` +
          `shares its chunks, delete it with \`idk rm --tree ${only}\``,
  );
}

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
