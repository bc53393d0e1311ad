import { type Command, command } from "../command.ts";
import { address, flag, identityFiles, optional, passphrase, path, store } from "../settings.ts";
import { Failure } from "../failures.ts";
import { count } from "../text.ts";
import { loadDedupSecret } from "../dedup-secret.ts";
import { loadIdentities } from "../identities.ts";
import { openStore } from "../open-store.ts";

export const rm: Command = command(
  {
    address,
    store,
    identity: identityFiles,
    passphrase,
    tree: flag,
    force: flag,
    dedupSecret: optional(path),
  },
  async (settings, session) => {
    const { out, signal } = session;
    // Opening what is removed alone takes no key.
    const identities = settings.tree ? await loadIdentities(settings, session) : [];
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    await using opened = await openStore(settings.store, session, { identities, dedupSecret });
    if (settings.tree) {
      const { force } = settings;
      const { blobs } = await opened.deleteTree(settings.address, { force, signal });
      await out.note(`removed ${count(blobs, "blob")}`);
      await out.report({ address: settings.address, blobs });
      return;
    }
    // The library's delete is idempotent; at a terminal a missing blob is rather a slip.
    if (!(await opened.has(settings.address, { signal }))) {
      throw new Failure("not-found", `the store has no blob ${settings.address}`);
    }
    await opened.delete(settings.address, { signal });
    await out.report({ address: settings.address, blobs: 1 });
  },
);
