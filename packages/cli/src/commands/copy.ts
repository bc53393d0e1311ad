import {
  type Address,
  type Backend,
  createMemoryBudget,
  createStore,
  replicate,
  type Store,
} from "@idk/storage";
import { resolveAddress } from "../blobs/address.ts";
import { type AddressSource, readAddresses } from "../blobs/address-list.ts";
import { createCopyTotals, describeCopy, reporting } from "../blobs/copy-totals.ts";
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
} from "../config/settings.ts";
import { codeOf, EXIT_CODES, usage } from "../errors/failures.ts";
import { createBlobFailures, type ItemFailures } from "../errors/item-failures.ts";
import { loadIdentities } from "../keys/identities.ts";
import { count } from "../output/text.ts";
import type { Totals } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { repositoryLocation } from "@idk/storage/url";
import { partOf, SHARDING } from "../shards/settings.ts";
import { findRepository } from "../stores/find-repository.ts";
import { openBackend } from "../stores/open-store.ts";
import { openTarget } from "../stores/open-target.ts";

export const copy: Command = command(
  {
    address: addresses,
    fromFile: optional(path),
    from: store,
    to: store,
    tree: flag,
    trustSize: flag,
    identity: identitySources,
    passphrase,
    memory: optional(size),
    ...SHARDING,
  },
  async (settings, session) => {
    const { tree, trustSize } = settings;
    const hasNames = settings.address.length > 0 || settings.fromFile !== undefined;
    if (tree && !hasNames) {
      throw usage("--tree needs addresses that `idk put` printed; omit it to copy all blobs");
    }
    const part = partOf(settings, hasNames);
    if (part !== undefined) {
      const { copyShard } = await import("../shards/copy.ts");
      await copyShard(settings, part, session);
      return;
    }
    // What reads trees and what copies share it.
    const memory = settings.memory === undefined ? undefined : createMemoryBudget(settings.memory);
    const identities = tree ? await loadIdentities(settings, session) : [];
    const { out, signal } = session;
    await using from = await openBackend(settings.from, session);
    const failures = createBlobFailures(session);
    const named = await namedBlobs(settings, createStore({ backend: from }), failures, session);
    await using to = await openTarget(settings.to, session);
    // Snapshots need all of their repository, so it is copied with all blobs or not at all.
    await using repository = hasNames ? undefined : await findRepository(settings.from, session);

    using meter = session.progress.start({
      command: "copy",
      noun: "blob",
      ...(!hasNames && { measure: async (stop) => measured([from, repository], stop) }),
      ...(hasNames && !tree && { totalItems: named.size }),
    });
    const totals = createCopyTotals(meter);
    const between = (source: Backend, target: Backend) =>
      reporting(failures, totals, async (options) => {
        try {
          return await replicate(source, target, { trustSize, memory, signal, ...options });
        } catch (error) {
          if (signal.aborted && !out.json) {
            await out.note(
              `idk: ${describeCopy(totals.sum)}: run the same command again to continue`,
            );
          }
          throw error;
        }
      });
    const copyBlobs = between(from, to);
    let markers: number | undefined;
    if (tree) {
      const source = createStore({ backend: from, identities, memory });
      for (const root of named) {
        let unread: unknown;
        const names = withErrorObserver(
          source.treeAddresses(root, { signal }),
          (error) => (unread = error),
        );
        try {
          const { withheld } = await copyBlobs({ names, roots: "if-complete" });
          if (withheld > 0) {
            await out.note(`idk: note: ${root} was not copied, because some of its content failed`);
          }
        } catch (error) {
          // An unreadable tree does not stop the run, but an unavailable store does.
          const unreadable =
            error === unread &&
            codeOf(error) === "unavailable" &&
            (await succeeds(from.head(root, { signal })));
          if (!unreadable && !isTreeFailure(error)) throw error;
          await failures.add(root, error);
        }
      }
    } else {
      await copyBlobs(hasNames ? { names: named } : {});
    }
    if (repository !== undefined) {
      await using target = await openTarget(repositoryLocation(settings.to), session);
      const report = await between(repository, target)({ markers: true });
      ({ markers } = report);
      if (report.failed > 0) {
        await out.note(
          "idk: note: no new snapshot is listed in the copy, because some of the repository's blobs failed",
        );
      }
      // A prune deletes snapshots first. Whatever else deletes may have taken what a snapshot needs.
      if (report.removed > 0 && report.markersRemoved === 0) {
        await out.note(
          `idk: warning: ${count(report.removed, "blob")} of the repository ${report.removed === 1 ? "was" : "were"} ` +
            "removed during the copy, but no snapshot was: run `idk check` on the copy",
        );
      }
    }

    const { sum } = totals;
    meter.finish();
    await out.report({ ...sum, failed: failures.count, ...(markers !== undefined && { markers }) });
    await out.flush();
    const snapshots =
      markers === undefined
        ? ""
        : `; with the repository of snapshots (${count(markers, "marker")})`;
    await out.note(`${describeCopy(sum)}; ${failures.count || "none"} failed${snapshots}`);
    failures.throwIfAny(sum.copied + sum.skipped + sum.withheld + failures.count);
  },
);

/** The blobs to copy; those that cannot be found are failures, unless there is only one. */
async function namedBlobs(
  source: AddressSource,
  from: Store,
  failures: ItemFailures,
  session: Session,
): Promise<Set<Address>> {
  const named = new Set<Address>();
  if (source.fromFile === undefined && source.address.length < 2) {
    for (const only of source.address) {
      named.add(await resolveAddress(from, only, session.signal));
    }
    return named;
  }
  for await (const { given, address, error } of readAddresses(source, from, session)) {
    if (address === undefined) await failures.add(given, error);
    else named.add(address);
  }
  return named;
}

async function measured(
  places: readonly (Backend | undefined)[],
  signal: AbortSignal,
): Promise<Totals> {
  let totalItems = 0;
  for (const place of places) {
    for await (const _ of place?.list("", { signal }) ?? []) totalItems += 1;
  }
  return { totalItems };
}

async function* withErrorObserver<T>(
  items: AsyncIterable<T>,
  onError: (error: unknown) => void,
): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    onError(error);
    throw error;
  }
}

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

function isTreeFailure(error: unknown): boolean {
  return [3, 4, 5].includes(EXIT_CODES[codeOf(error)]);
}
