import {
  type Address,
  type Backend,
  createStore,
  type ListedBlob,
  type Store,
  type StoreOptions,
} from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import type { Target } from "../blobs/address-list.ts";
import { createRefusals } from "../blobs/run-many.ts";
import { verifyBlobs } from "../blobs/verify/verify-blobs.ts";
import { checkRoots } from "../blobs/verify/verify-complete.ts";
import { createTally, type Depth } from "../blobs/verify/verify-tally.ts";
import type { Session } from "../session.ts";
import { findRepository } from "../stores/find-repository.ts";
import { openBackend } from "../stores/open-store.ts";
import { listingOnly } from "./batches.ts";
import { runShard } from "./run-shard.ts";
import type { Part } from "./settings.ts";
import { storeText } from "./store-text.ts";

/** Checks the blobs of a shard, those of snapshots too, or that the roots in it are complete. */
export async function verifyShard(
  location: StoreLocation,
  { shard, report: path }: Part,
  depth: Depth | "complete",
  options: Omit<StoreOptions, "backend">,
  session: Session,
): Promise<void> {
  const backend = await openBackend(location, session);
  let listed: readonly ListedBlob[] = [];
  const storeOver = (place: Backend): Store =>
    createStore({ ...options, backend: listingOnly(place, () => listed) });
  // Closes the backend, too.
  await using opened = storeOver(backend);
  await using repository =
    depth === "complete" ? undefined : await findRepository(location, session);
  const places = repository === undefined ? [backend] : [backend, repository];
  const stores = repository === undefined ? [opened] : [opened, storeOver(repository)];
  using meter = session.progress.start({
    command: "verify",
    noun: depth === "complete" ? "root" : "blob",
  });
  const subject = {
    command: "verify",
    options: { depth },
    stores: [await storeText(location)],
    shard,
  } as const;
  // Not of one batch, which may have fewer blobs than end a run.
  const inARow = createRefusals("blob");
  await runShard(
    { path, subject },
    places,
    async ({ place, blobs, failures, failedBefore }) => {
      listed = blobs;
      const from = stores[place]!;
      // Those that are tried again may all fail though the store is up: then it is asked for a list.
      const refusals = failedBefore > 0 ? undefined : inARow;
      if (depth === "complete") {
        return { ...(await checkRoots(from, undefined, { refusals, failures, meter }, session)) };
      }
      const tally = createTally();
      const run = { depth, named: false, refusals, failures, tally, meter };
      await verifyBlobs(from, blobs.map(targetOf), run, session);
      const { counts } = tally;
      if (place === 0) return { ...counts };
      // Of snapshots: what is below their blobs is for `check`.
      return { ...counts, roots: 0, snapshotBlobs: counts.blobs + failures.count - failedBefore };
    },
    session,
  );
}

function targetOf({ name, size }: ListedBlob): Target {
  return { given: name, address: name as Address, size };
}
