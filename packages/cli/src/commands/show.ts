import type { StoreLocation } from "@idk/storage/url";
import { DIGITS_TO_DISPLAY, resolveAddress } from "../blobs/address.ts";
import { describeInspection, describeStat } from "../blobs/describe.ts";
import { listContents } from "../blobs/listing.ts";
import { type Command, command } from "../command.ts";
import { displayedAddress, flag, identitySources, passphrase, store } from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { type IdentitySettings, loadIdentities } from "../keys/identities.ts";
import { toHex } from "../output/text.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

export const ls: Command = command(
  { store, long: flag, all: flag, identity: identitySources, passphrase },
  async (settings, session) => {
    const { long, all } = settings;
    if (long) {
      await listLong(settings, { all }, session);
      return;
    }
    if (all) throw usage("--all needs --long: without it, all blobs are listed anyway");
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

export const stat: Command = command(
  { address: displayedAddress, store, identity: identitySources, passphrase },
  async (settings, session) => {
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    const { signal } = session;
    const wanted = await resolveAddress(opened, settings.address, signal, DIGITS_TO_DISPLAY);
    const found = await opened.stat(wanted, { signal });
    await session.out.result(describeStat(found), found);
  },
);

/** Shows what the store can see, so it loads no identity. */
export const inspect: Command = command(
  { address: displayedAddress, store },
  async (settings, session) => {
    const { out, signal } = session;
    await using opened = await openStore(settings.store, session);
    const wanted = await resolveAddress(opened, settings.address, signal, DIGITS_TO_DISPLAY);
    const seen = await opened.inspect(wanted, { signal });
    const { ephemeral, commitment, verifiedByServer, storedAt, encryption, ...rest } = seen;
    await out.result(describeInspection(seen), {
      ...rest,
      attested: verifiedByServer ?? null,
      storedAt,
      encryption,
      ...(ephemeral && { ephemeral: toHex(ephemeral) }),
      commitment: toHex(commitment),
    });
  },
);
