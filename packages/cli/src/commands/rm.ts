import type { DeleteReport, SkippedBlob, Store } from "@idk/storage";
import { isPrefix, resolveAddress } from "../blobs/address.ts";
import { type Command, command } from "../command.ts";
import {
  address as addressField,
  flag,
  identitySources,
  optional,
  passphrase,
  path,
  store,
} from "../config/settings.ts";
import { Failure, usage } from "../errors/failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { loadDedupSecret } from "../keys/key-files.ts";
import { openTerminal } from "../keys/terminal.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

/** Trees of more blobs are deleted only after confirmation: whoever wrote the root chose the number. */
const UNASKED_MAX = 10_000;

export const rm: Command = command(
  {
    address: addressField,
    store,
    identity: identitySources,
    passphrase,
    tree: flag,
    force: flag,
    yes: flag,
    dedupSecret: optional(path),
  },
  async (settings, session) => {
    const { out, signal } = session;
    if (settings.yes && !settings.tree) throw usage("--yes applies to --tree");
    // Only a tree has to be decrypted.
    const identities = settings.tree ? await loadIdentities(settings, session) : [];
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    await using opened = await openStore(settings.store, session, { identities, dedupSecret });
    const address = await resolveAddress(opened, settings.address, signal);
    const abbreviated = isPrefix(settings.address);
    if (settings.tree) {
      const { blobs, skipped } = await removeTree(opened, address, settings, session);
      const left =
        skipped === 0 ? "" : `; ${skipped} not deleted, because they do not belong to it`;
      await out.note(`removed ${count(blobs, "blob")}${abbreviated ? `: ${address}` : ""}${left}`);
      await out.report({ address, blobs, skipped });
      if (skipped === 0) return;
      throw new Failure(
        "tree",
        `${skipped} of ${count(blobs + skipped, "blob")} do not belong to the tree and were not deleted`,
      );
    }
    // The library's delete is idempotent. On a command line, a missing blob is probably a typo.
    if (!(await opened.has(address, { signal }))) {
      throw new Failure("not-found", `the store has no blob ${address}`);
    }
    await opened.delete(address, { signal });
    // Print the address that the prefix was resolved to.
    if (abbreviated) await out.note(`removed ${address}`);
    await out.report({ address, blobs: 1 });
  },
);

interface TreeRemoval {
  readonly force: boolean;
  /** Do not ask, however many blobs the tree has. */
  readonly yes: boolean;
}

/** Removes a root and the blobs that belong to it, and prints those that do not. */
export async function removeTree(
  opened: Pick<Store, "deleteTree">,
  address: string,
  { force, yes }: TreeRemoval,
  session: Session,
): Promise<DeleteReport> {
  const { out, progress, signal } = session;
  using meter = progress.start({ command: "rm", noun: "blob" });
  let removed = 0;
  let printed = Promise.resolve();
  try {
    return await opened.deleteTree(address, {
      force,
      signal,
      confirm: async ({ blobs }) => {
        if (blobs > UNASKED_MAX && !yes) await confirmTree(address, blobs, session);
        meter.setTotals({ totalItems: blobs });
        return true;
      },
      onProgress({ blobs }) {
        removed = blobs;
        meter.itemDone();
      },
      onSkipped(skipped) {
        printed = printed.then(() => printSkipped(skipped, session));
        // Awaited below; until then a rejection must not count as unhandled.
        printed.catch(() => undefined);
      },
    });
  } catch (error) {
    meter.finish();
    if (removed > 0 && !out.json) {
      await out.note(
        `idk: ${count(removed, "blob")} of ${address} deleted, root first; the remaining chunks are ` +
          "unreachable and only take up space",
      );
    }
    throw error;
  } finally {
    await printed;
  }
}

/** @throws Failure `usage` unless the user agrees */
async function confirmTree(address: string, blobs: number, { signal }: Session): Promise<void> {
  const what = `the tree ${address} has ${blobs} blobs`;
  const terminal = openTerminal(signal);
  if (terminal === undefined) {
    throw usage(`${what}: pass --yes to delete more than ${UNASKED_MAX} without being asked`);
  }
  const answer = await terminal.ask(`${what}. Delete all of them? [y/N] `);
  if (!/^y(?:es)?$/iu.test(answer.trim())) throw usage("not confirmed: nothing was deleted");
}

const REASONS: Readonly<Record<SkippedBlob["reason"], string>> = {
  "not-a-chunk": "is a root or not a blob of idk, and no chunk of this tree",
  "other-key": "is a chunk of another tree: this tree does not have its key",
};

async function printSkipped(
  { address, reason }: SkippedBlob,
  { out }: Pick<Session, "out">,
): Promise<void> {
  await out.report({ skipped: true, address, reason });
  if (!out.json) await out.fault(`idk: not deleted: ${address} ${REASONS[reason]}`);
}
