import type { BlobShard, PruneReport } from "@idk/snapshots";
import type { StoreLocation } from "@idk/storage/url";
import type { Session } from "../session.ts";
import { warnOfMissingPacks } from "../snapshots/missing-packs.ts";
import { openProgress } from "./run-shard.ts";
import type { Part } from "./settings.ts";
import { blobShard } from "./shard.ts";
import { storeText } from "./store-text.ts";
import { conclude, noteStopped } from "./summary.ts";

export interface PruneSettings {
  readonly store: StoreLocation;
  readonly dryRun: boolean;
  readonly acceptLost: boolean;
}

/**
 * Prunes a part of the store. If it is interrupted, what it has deleted is gone, and the next run counts only
 * what it deletes itself.
 */
export async function pruneShard(
  { shard, report: path }: Part,
  { store, dryRun, acceptLost }: PruneSettings,
  prune: (shard: BlobShard) => Promise<PruneReport>,
  session: Session,
): Promise<void> {
  const subject = {
    command: "prune",
    options: { dryRun, acceptLost },
    stores: [await storeText(store)],
    shard,
  } as const;
  const progress = await openProgress(path, subject, session);
  if (progress.report.position !== undefined) {
    try {
      const { deleted, kept, missing, graceSeconds } = await prune(blobShard(shard));
      const counts = {
        deletedBlobs: deleted.blobs,
        deletedBytes: deleted.bytes,
        keptBlobs: kept.blobs,
        keptBytes: kept.bytes,
        missing,
      };
      // Each shard deletes all of them, before any blob.
      await progress.finish({ counts }, { markers: deleted.markers, graceSeconds });
    } catch (error) {
      await noteStopped(error, progress.report, session);
      throw error;
    }
  }
  await conclude(progress.report, session);
  await warnOfMissingPacks(progress.report.counts["missing"] ?? 0, session);
}
