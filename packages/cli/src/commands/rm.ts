import type { Address } from "@idk/storage";
import { isPrefix, resolveAddress } from "../blobs/address.ts";
import { onlyAddress } from "../blobs/address-list.ts";
import { chunksBelow, createLeftTally } from "../blobs/chunks-left.ts";
import { removeTree } from "../blobs/remove-tree.ts";
import { createTreesRemoval } from "../blobs/remove-trees.ts";
import { forEachAddress } from "../blobs/run-many.ts";
import { type Command, command } from "../command.ts";
import {
  addresses,
  flag,
  identitySources,
  optional,
  passphrase,
  path,
  store,
} from "../config/settings.ts";
import { Failure, usage } from "../errors/failures.ts";
import { loadIdentities, loadUnasked } from "../keys/identities.ts";
import { loadDedupSecret } from "../keys/key-files.ts";
import { count } from "../output/text.ts";
import { openStore } from "../stores/open-store.ts";

/** Larger trees need confirmation, because the writer of the root chose the number of blobs. */
const UNASKED_MAX = 10_000;

/** Blobs removed concurrently. Up to 2 MiB of each are read to see what stays. */
const AT_ONCE = 16;

export const rm: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
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
    const { tree, force, yes } = settings;
    const only = onlyAddress(settings);
    if (yes && !tree) throw usage("--yes applies to --tree");
    // Only a tree has to be decrypted.
    const identities = await (tree ? loadIdentities : loadUnasked)(settings, session);
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    await using opened = await openStore(settings.store, session, { identities, dedupSecret });
    const askAbove = yes ? Infinity : UNASKED_MAX;

    const left = createLeftTally(session);
    const removeOne = async (address: Address, stop: AbortSignal): Promise<object> => {
      const below = await chunksBelow(opened, address, stop);
      // The library's delete is idempotent. On a command line, a missing blob is probably a typo.
      if (!(await opened.has(address, { signal: stop }))) {
        throw new Failure("not-found", `the store has no blob ${address}`);
      }
      await opened.delete(address, { signal: stop });
      left.add(below);
      return {
        address,
        blobs: 1,
        removed: true,
        ...(below?.chunks && { chunksLeft: below.chunks }),
      };
    };

    if (only === undefined) {
      const trees = createTreesRemoval(opened, session);
      const removal = { force, askAbove, printAddress: true, details: { ok: true } };
      const removing = forEachAddress(
        { ...settings, removes: true },
        opened,
        {
          command: "rm",
          // One tree at a time, because it may ask.
          concurrency: tree ? 1 : AT_ONCE,
          summary: (done) => `removed ${count(done, tree ? "tree" : "blob")}`,
          async work(address, stop, meter) {
            if (tree) await trees.remove(address, { ...removal, meter });
            else await out.report({ ok: true, ...(await removeOne(address, stop)) });
          },
          finish: async (failures) => void (await trees.removeNodes(failures)),
          notes: () => left.note(),
        },
        session,
      );
      try {
        await removing;
      } finally {
        await trees.reportLeft();
      }
      return;
    }
    const address = await resolveAddress(opened, only, signal);
    const abbreviated = isPrefix(only);
    if (tree) {
      await removeTree(opened, address, { force, askAbove, printAddress: abbreviated }, session);
      return;
    }
    const removed = await removeOne(address, signal);
    // Print the address that the prefix was resolved to.
    if (abbreviated) await out.note(`removed ${address}`);
    await out.report(removed);
    await left.note();
  },
);
