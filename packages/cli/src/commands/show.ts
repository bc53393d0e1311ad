import type { StoreLocation } from "@idk/storage/url";
import { DIGITS_TO_DISPLAY, resolveAddress } from "../blobs/address.ts";
import { describeInspection, describeStat } from "../blobs/describe.ts";
import { listContents } from "../blobs/listing.ts";
import { type Command, command } from "../command.ts";
import {
  displayedAddress,
  flag,
  folders,
  identitySources,
  optional,
  passphrase,
  repository,
  snapshot,
  store,
  text,
} from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { type IdentitySettings, loadIdentities } from "../keys/identities.ts";
import { toHex } from "../output/text.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

export const ls: Command = command(
  {
    store,
    long: flag,
    all: flag,
    identity: identitySources,
    passphrase,
    snapshot: optional(snapshot),
    path: optional(text),
    recursive: flag,
    acceptRollback: flag,
    repository,
    folders,
  },
  async (settings, session) => {
    const { long, all, snapshot: listed } = settings;
    if (listed !== undefined) {
      if (all) throw usage("--all lists the blobs of a store, not a snapshot");
      // Load the code of snapshots only if it is needed.
      const { listSnapshot } = await import("./snapshots/list.ts");
      await listSnapshot({ ...settings, snapshot: listed }, session);
      return;
    }
    if (settings.recursive || settings.acceptRollback) {
      throw usage("--recursive and --accept-rollback apply to a snapshot: name one");
    }
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
