import type { Store } from "@idk/storage";
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
import { Failure } from "../errors/failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { loadDedupSecret } from "../keys/key-files.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

export const rm: Command = command(
  {
    address: addressField,
    store,
    identity: identitySources,
    passphrase,
    tree: flag,
    force: flag,
    dedupSecret: optional(path),
  },
  async (settings, session) => {
    const { out, signal } = session;
    // Only a tree has to be decrypted.
    const identities = settings.tree ? await loadIdentities(settings, session) : [];
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    await using opened = await openStore(settings.store, session, { identities, dedupSecret });
    const address = await resolveAddress(opened, settings.address, signal);
    const abbreviated = isPrefix(settings.address);
    if (settings.tree) {
      const { force } = settings;
      const blobs = await removeTree(opened, address, force, session);
      await out.note(`removed ${count(blobs, "blob")}${abbreviated ? `: ${address}` : ""}`);
      await out.report({ address, blobs });
      return;
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

/** @returns the number of blobs removed */
async function removeTree(
  opened: Store,
  address: string,
  force: boolean,
  { out, progress, signal }: Session,
): Promise<number> {
  using meter = progress.start({ command: "rm", noun: "blob" });
  let removed = 0;
  const onProgress = (): void => {
    removed += 1;
    meter.itemDone();
  };
  try {
    const { blobs } = await opened.deleteTree(address, { force, signal, onProgress });
    return blobs;
  } catch (error) {
    meter.finish();
    if (removed > 0 && !out.json) {
      await out.note(
        `idk: ${count(removed, "blob")} of ${address} deleted, root first; the remaining chunks are ` +
          "unreachable and only take up space",
      );
    }
    throw error;
  }
}
