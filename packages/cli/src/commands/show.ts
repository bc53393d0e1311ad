import type { StoreLocation } from "@idk/storage/url";
import { DIGITS_TO_DISPLAY, resolveAddress } from "../blobs/address.ts";
import { onlyAddress } from "../blobs/address-list.ts";
import { describeInspection, describeStat } from "../blobs/describe.ts";
import { listContents, type ListingOptions } from "../blobs/listing/listing.ts";
import { createTurns, forEachAddress } from "../blobs/run-many.ts";
import { type Command, command } from "../command.ts";
import { moment } from "../config/times.ts";
import {
  displayedAddress,
  displayedAddresses,
  flag,
  folders,
  identitySources,
  optional,
  passphrase,
  path,
  repository,
  size,
  snapshot,
  store,
  text,
} from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { type IdentitySettings, loadIdentities } from "../keys/identities.ts";
import { count, toHex } from "../output/text.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";

export const ls: Command = command(
  {
    store,
    long: flag,
    all: flag,
    name: optional(text),
    type: optional(text),
    since: moment,
    larger: optional(size),
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
    const { long, all, name, type, since, larger, snapshot: listed } = settings;
    const filter = { name, type, since, larger };
    const isFiltered = Object.values(filter).some((each) => each !== undefined);
    if (listed !== undefined) {
      if (all) throw usage("--all lists the blobs of a store, not a snapshot");
      if (isFiltered) {
        throw usage(
          "--name, --type, --since and --larger list a store, not a snapshot: use `idk find`",
        );
      }
      // Load the code of snapshots only if it is needed.
      const { listSnapshot } = await import("./snapshots/list.ts");
      await listSnapshot({ ...settings, snapshot: listed }, session);
      return;
    }
    if (settings.recursive || settings.acceptRollback) {
      throw usage("--recursive and --accept-rollback apply to a snapshot: name one");
    }
    if (long) {
      await listLong(settings, { all, ...filter }, session);
      return;
    }
    if (all) throw usage("--all needs --long: without it, all blobs are listed anyway");
    if (isFiltered) {
      throw usage("--name, --type, --since and --larger need --long, which opens the contents");
    }
    const { out, signal } = session;
    await using opened = await openStore(settings.store, session);
    for await (const { address, size } of opened.list({ signal })) {
      await out.result(address, { address, size });
    }
  },
);

async function listLong(
  settings: IdentitySettings & { readonly store: StoreLocation },
  options: ListingOptions,
  session: Session,
): Promise<void> {
  const identities = await loadIdentities(settings, session);
  await using opened = await openStore(settings.store, session, { identities });
  await listContents(opened, options, session);
}

export const stat: Command = command(
  {
    address: displayedAddresses,
    fromFile: optional(path),
    store,
    identity: identitySources,
    passphrase,
  },
  async (settings, session) => {
    const { out, signal } = session;
    const only = onlyAddress(settings);
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    if (only === undefined) {
      let gap = "";
      const nextTurn = createTurns();
      await forEachAddress(
        settings,
        opened,
        {
          command: "stat",
          concurrency: STATS_AT_ONCE,
          minDigits: DIGITS_TO_DISPLAY,
          summary: (done) => `opened ${count(done, "address")}`,
          async work(address, stop) {
            const turn = nextTurn();
            try {
              const found = await opened.stat(address, { signal: stop });
              await turn.mine;
              await out.result(`${gap}${describeStat(found)}`, { ok: true, ...found });
              gap = "\n";
            } finally {
              turn.end();
            }
          },
        },
        session,
      );
      return;
    }
    const wanted = await resolveAddress(opened, only, signal, DIGITS_TO_DISPLAY);
    const found = await opened.stat(wanted, { signal });
    await out.result(describeStat(found), found);
  },
);

/** Roots opened concurrently; each may take 2 MiB of memory. */
const STATS_AT_ONCE = 16;

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
