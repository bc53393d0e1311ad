import { createStore, type Store } from "@idk/storage";
import { resolveAddress } from "../blobs/address.ts";
import {
  type AddressSource,
  type Listed,
  onlyAddress,
  readAddresses,
} from "../blobs/address-list.ts";
import { verifyBlobs } from "../blobs/verify/verify-blobs.ts";
import { verifyComplete } from "../blobs/verify/verify-complete.ts";
import { createTally, type Depth, describeVerify } from "../blobs/verify/verify-tally.ts";
import { type Command, command } from "../command.ts";
import {
  addresses,
  flag,
  identitySources,
  optional,
  passphrase,
  path,
  size,
  store,
  workers,
} from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { createBlobFailures } from "../errors/item-failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import type { Totals } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { partOf, SHARDING } from "../shards/settings.ts";
import { findRepository } from "../stores/find-repository.ts";
import { openStore } from "../stores/open-store.ts";

export const verify: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
    store,
    deep: flag,
    complete: flag,
    serverChecksums: flag,
    /** An alias of --server-checksums. */
    attested: flag,
    identity: identitySources,
    passphrase,
    workers,
    memory: optional(size),
    ...SHARDING,
  },
  async (settings, session) => {
    const { out, signal } = session;
    const depth = depthOf(settings);
    const needsKey = depth === "deep" || depth === "complete";
    const identities = needsKey ? await loadIdentities(settings, session) : [];
    const { workers: threads, memory } = settings;
    const options = { identities, workers: threads, memory };
    const named = settings.address.length > 0 || settings.fromFile !== undefined;
    const part = partOf(settings, named);
    if (part !== undefined) {
      const { verifyShard } = await import("../shards/verify.ts");
      await verifyShard(settings.store, part, depth, options, session);
      return;
    }
    await using opened = await openStore(settings.store, session, options);
    await using backend = named ? undefined : await findRepository(settings.store, session);
    if (depth === "complete") {
      const targets = named ? await targetsOf(settings, opened, session) : undefined;
      await verifyComplete(opened, targets, backend !== undefined, session);
      return;
    }
    const failures = createBlobFailures(session);
    const tally = createTally();
    const single = settings.fromFile === undefined && settings.address.length === 1;
    const repository = backend && createStore({ ...options, backend });
    const targets = named ? await targetsOf(settings, opened, session) : listed(opened, signal);
    using meter = session.progress.start({
      command: "verify",
      noun: "blob",
      ...(named
        ? { totalItems: settings.fromFile === undefined ? settings.address.length : undefined }
        : { measure: async (stop) => measured([opened, repository], depth, stop) }),
    });
    const run = { depth, named, single, failures, tally, meter };
    await verifyBlobs(opened, targets, run, session);
    const inStore = tally.counts.blobs + failures.count;
    // What is below the blobs of snapshots is for `check`.
    const { roots } = tally.counts;
    if (repository !== undefined) {
      await verifyBlobs(repository, listed(repository, signal), run, session);
    }
    meter.finish();
    await out.flush();
    const all = tally.counts.blobs + failures.count;
    const snapshotBlobs = repository && all - inStore;
    const [summary = "", ...notes] = describeVerify(
      depth,
      { ...tally.counts, roots },
      failures.count,
      snapshotBlobs,
    );
    await out.note(summary);
    if (!out.json) for (const note of notes) await out.note(note);
    failures.throwIfAny(all);
  },
);

/** An address on the command line that cannot be resolved is a mistake, one of several a failure. */
async function targetsOf(
  source: AddressSource,
  opened: Store,
  session: Session,
): Promise<AsyncIterable<Listed>> {
  const only = onlyAddress(source);
  if (only === undefined) return readAddresses(source, opened, session);
  const address = await resolveAddress(opened, only, session.signal);
  return (async function* one() {
    yield { given: only, address };
  })();
}

function depthOf({
  deep,
  complete,
  serverChecksums,
  attested,
}: Readonly<Record<"deep" | "complete" | "serverChecksums" | "attested", boolean>>):
  | Depth
  | "complete" {
  const checksums = serverChecksums || attested;
  if (deep && checksums) {
    throw usage("--deep and --server-checksums exclude each other");
  }
  if (complete && (deep || checksums)) {
    throw usage("--complete excludes --deep, which includes it, and --server-checksums");
  }
  if (deep) return "deep";
  if (complete) return "complete";
  return checksums ? "checksum" : "blob";
}

/** The whole store. With --deep, chunks are also read with their roots, so bytes have no total. */
async function measured(
  places: readonly (Store | undefined)[],
  depth: Depth,
  signal: AbortSignal,
): Promise<Totals> {
  let [totalItems, totalBytes] = [0, 0];
  for (const place of places) {
    for await (const { size } of place?.list({ signal }) ?? []) {
      totalItems += 1;
      totalBytes += size;
    }
  }
  return depth === "blob" ? { totalItems, totalBytes } : { totalItems };
}

async function* listed(opened: Store, signal: AbortSignal): AsyncGenerator<Listed> {
  for await (const { address, size } of opened.list({ signal })) {
    yield { given: address, address, size };
  }
}
