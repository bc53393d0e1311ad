import { type ListedBlob, replicate } from "@idk/storage";
import { repositoryLocation, type StoreLocation } from "@idk/storage/url";
import { createCopyTotals, reporting } from "../blobs/copy-totals.ts";
import type { Session } from "../session.ts";
import { findRepository } from "../stores/find-repository.ts";
import { openBackend } from "../stores/open-store.ts";
import { openTarget } from "../stores/open-target.ts";
import { listingOnly } from "./batches.ts";
import { runShard } from "./run-shard.ts";
import type { Part } from "./settings.ts";
import { storeText } from "./store-text.ts";

export interface CopySettings {
  readonly from: StoreLocation;
  readonly to: StoreLocation;
  readonly trustSize: boolean;
  readonly memory: number | undefined;
}

/**
 * Copies the blobs of a shard, those of snapshots too, but no markers: only when all shards are done, the
 * target has what they need.
 */
export async function copyShard(
  { from, to, trustSize, memory }: CopySettings,
  { shard, report: path }: Part,
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  await using source = await openBackend(from, session);
  await using target = await openTarget(to, session);
  await using repository = await findRepository(from, session);
  await using copied =
    repository === undefined ? undefined : await openTarget(repositoryLocation(to), session);
  const places = repository === undefined ? [source] : [source, repository];
  const targets = copied === undefined ? [target] : [target, copied];
  let listed: readonly ListedBlob[] = [];
  const sources = places.map((place) => listingOnly(place, () => listed));
  using meter = session.progress.start({ command: "copy", noun: "blob" });
  const subject = {
    command: "copy",
    options: { trustSize },
    stores: [await storeText(from), await storeText(to)],
    shard,
  } as const;
  if (repository !== undefined && !out.json) {
    await out.note(
      "idk: note: shards do not copy which snapshots there are: when all are complete, run `idk copy` " +
        "without --shard, too",
    );
  }
  await runShard(
    { path, subject },
    places,
    async ({ place, blobs, failures }) => {
      listed = blobs;
      const totals = createCopyTotals(meter);
      const copyBatch = reporting(failures, totals, (options) =>
        // The chunks of a root may be in another shard, so it makes no difference when roots are copied.
        replicate(sources[place]!, targets[place]!, {
          trustSize,
          memory,
          signal,
          roots: "as-listed",
          ...options,
        }),
      );
      const { failed: _, ...counts } = await copyBatch({});
      return counts;
    },
    session,
  );
}
