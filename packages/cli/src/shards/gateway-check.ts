import type { CheckCounts, ObjectPlace } from "@idk/gateway";
import type { StoreLocation } from "@idk/storage/url";
import { faultText, printFault } from "../gateway/check-summary.ts";
import type { OpenStored } from "../gateway/open-gateway.ts";
import type { Session } from "../session.ts";
import type { Counts, Position, ReportedFailure } from "./report.ts";
import { openProgress } from "./run-shard.ts";
import type { Part } from "./settings.ts";
import { blobShard } from "./shard.ts";
import { storeText } from "./store-text.ts";
import { conclude, noteStopped } from "./summary.ts";

/** Milliseconds between two records of the progress. */
const INTERVAL = 1000;

/** Checks the objects of a shard in the order of the catalog, and continues after the last one recorded. */
export async function checkGatewayShard(
  { shard, report: path }: Part,
  { objects: { maintenance }, catalog }: Pick<OpenStored, "objects" | "catalog">,
  { store, deep }: { readonly store: StoreLocation; readonly deep: boolean },
  session: Session,
): Promise<void> {
  const { uuid } = await catalog.lineage();
  const subject = {
    command: "gateway check",
    // Shards of two catalogs do not add up to a check of either.
    options: { deep, catalog: uuid },
    stores: [await storeText(store)],
    shard,
  } as const;
  const progress = await openProgress(path, subject, session);
  const { position } = progress.report;
  if (position !== undefined) {
    let recorded: Counted = { objects: 0, reportedElsewhere: 0 };
    let found: ReportedFailure[] = [];
    let recordedAt = -Infinity;
    try {
      const report = await maintenance.check({
        deep,
        shard: blobShard(shard),
        after: placeOf(position),
        signal: session.signal,
        async onFault(fault) {
          await printFault(fault, session);
          found.push({ code: "tree", message: faultText(fault) });
        },
        async onChecked(place, counted) {
          if (performance.now() - recordedAt < INTERVAL) return;
          const counts = added(counted, recorded);
          await progress.record(positionAt(place), { counts, failures: found });
          [recorded, found, recordedAt] = [counted, [], performance.now()];
        },
      });
      await progress.finish({ counts: added(report, recorded), failures: found });
    } catch (error) {
      await session.out.flush();
      await noteStopped(error, progress.report, session);
      throw error;
    }
  }
  await conclude(progress.report, session);
}

type Counted = Pick<CheckCounts, "objects" | "reportedElsewhere">;

function added(now: Counted, before: Counted): Counts {
  return {
    objects: now.objects - before.objects,
    reportedElsewhere: now.reportedElsewhere - before.reportedElsewhere,
  };
}

function positionAt({ bucket, key }: ObjectPlace): Position {
  return { place: 0, after: "", object: { bucket, key: Buffer.from(key).toString("base64") } };
}

function placeOf({ object }: Position): ObjectPlace | undefined {
  return object && { bucket: object.bucket, key: Buffer.from(object.key, "base64") };
}
