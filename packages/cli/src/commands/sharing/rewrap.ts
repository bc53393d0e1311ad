import type { Address, Store } from "@idk/storage";
import { resolveAddress } from "../../blobs/address.ts";
import { type AddressSource, onlyAddress } from "../../blobs/address-list.ts";
import { removeTree } from "../../blobs/remove-tree.ts";
import { createTreesRemoval, type TreesRemoval } from "../../blobs/remove-trees.ts";
import { resealContent, type ResealSettings } from "../../blobs/reseal.ts";
import { createRefusals, forEachAddress, ROOTS_AT_ONCE, runMany } from "../../blobs/run-many.ts";
import { type Command, command } from "../../command.ts";
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
  recipients,
  store,
  workers,
} from "../../config/settings.ts";
import { reportOverrides } from "../../config/overrides.ts";
import { usage } from "../../errors/failures.ts";
import { createListFailures } from "../../errors/item-failures.ts";
import { loadIdentities } from "../../keys/identities.ts";
import { loadRecipients } from "../../keys/recipients.ts";
import { openTerminal } from "../../keys/terminal.ts";
import { count } from "../../output/text.ts";
import type { Meter } from "../../progress/meter.ts";
import type { Session } from "../../session.ts";
import { openStore } from "../../stores/open-store.ts";

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
export async function rewrapMany(
  opened: Store,
  to: readonly string[],
  settings: AddressSource & ResealFlags & ResealSettings,
  used: object,
  session: Session,
): Promise<void> {
  const { out } = session;
  const { reseal } = settings;
  const old: Address[] = [];
  const trees = createTreesRemoval(opened, session);
  let nodes = 0;
  const deletions = createListFailures(session, "deletion", "address");
  let deleting = false;
  let deleted = 0;
  const rewrapping = forEachAddress(
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
        const remove = async (previous: Address): Promise<void> => {
          await deleteOld(opened, previous, settings, session, { meter, trees });
          deleted += 1;
        };
        const options = {
          concurrency: 1,
          nameOf: String,
          onDone() {},
          refusals: createRefusals("item"),
        };
        await runMany(old, remove, { ...options, failures: deletions }, session);
        nodes = await trees.removeNodes(deletions);
      },
      left() {
        if (!settings.deleteOld) return undefined;
        return deleting
          ? `${deleted} of ${count(old.length, "old tree")} deleted`
          : "the others are left to do, and no old tree was deleted";
      },
      async notes() {
        if (deleting && old.length === 0) {
          await out.note("idk: note: the list has no addresses: nothing was resealed or deleted");
        } else if (!settings.deleteOld || (deleting && deletions.count === 0)) {
          await noteOld(undefined, settings, session);
        } else if (!out.json) {
          await out.note(
            deleting
              ? `idk: note: ${deleted} of ${count(old.length, "old tree")} deleted completely`
              : NONE_DELETED,
          );
        }
        deletions.throwIfAny(old.length + nodes);
      },
    },
    session,
  );
  try {
    await rewrapping;
  } finally {
    await trees.reportLeft();
  }
}

const NONE_DELETED =
  "idk: note: no old tree was deleted: old trees may share chunks, so they are deleted only if all " +
  "content has been resealed";

async function deleteOld(
  opened: Store,
  previous: Address,
  { yes }: ResealFlags,
  session: Session,
  several?: { readonly meter: Meter; readonly trees: TreesRemoval },
): Promise<void> {
  const effect = "; other roots that share its chunks lose their content";
  const askAbove = yes ? Infinity : 0;
  const removal = { force: false, askAbove, effect, printAddress: true };
  if (several === undefined) return removeTree(opened, previous, removal, session);
  const { meter, trees } = several;
  await trees.remove(previous, { ...removal, meter, details: { ok: true } });
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
      ? "idk: note: the old trees stay, and their recipients can read them. If no other root shares " +
          "a tree's chunks, delete it with `idk rm --tree`: pass the address that you gave here, not " +
          "one of this output"
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
