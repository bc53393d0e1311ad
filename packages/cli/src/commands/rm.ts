import { isPrefix, resolveAddress } from "../blobs/address.ts";
import { removeTree } from "../blobs/remove-tree.ts";
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
import { openStore } from "../stores/open-store.ts";

/** Larger trees need confirmation, because the writer of the root chose the number of blobs. */
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
      const { force, yes } = settings;
      const askAbove = yes ? Infinity : UNASKED_MAX;
      await removeTree(opened, address, { force, askAbove, printAddress: abbreviated }, session);
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
