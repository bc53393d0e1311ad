import { type Command, command } from "../command.ts";
import { type IdentitySettings, loadIdentities } from "../identities.ts";
import { flag, identitySources, passphrase, store } from "../settings.ts";
import { listContents } from "../list-contents.ts";
import { openStore } from "../open-store.ts";
import type { Session } from "../session.ts";
import type { StoreLocation } from "@idk/storage/url";
import { usage } from "../failures.ts";

export const ls: Command = command(
  { store, long: flag, all: flag, identity: identitySources, passphrase },
  async (settings, session) => {
    const { long, all } = settings;
    if (long) {
      await listLong(settings, { all }, session);
      return;
    }
    if (all) throw usage("--all goes with --long: without it every blob is listed anyway");
    const { out, signal } = session;
    await using opened = await openStore(settings.store, session);
    for await (const { address, size } of opened.list({ signal })) {
      await out.result(address, { address, size });
    }
  },
);

async function listLong(
  settings: IdentitySettings & { readonly store: StoreLocation },
  options: { readonly all: boolean },
  session: Session,
): Promise<void> {
  const identities = await loadIdentities(settings, session);
  await using opened = await openStore(settings.store, session, { identities });
  await listContents(opened, options, session);
}
