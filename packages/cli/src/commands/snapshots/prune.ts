import { type BlobShard, prune as pruneBlobs, type PruneReport } from "@idk/snapshots";
import { StorageError } from "@idk/storage";
import { DIGITS_TO_ACT } from "../../blobs/address.ts";
import { command, type Command } from "../../command.ts";
import { flag } from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { formatPeriod } from "../../config/times.ts";
import { count, roundBytes } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import type { HeadReports } from "../../snapshots/head-options.ts";
import { CLOSED_TO_OWNER } from "../../snapshots/check/steps.ts";
import {
  type OpenedRepository,
  ownsRepository,
  READING,
} from "../../snapshots/opening/open-repository.ts";
import { warnOfMissingPacks } from "../../snapshots/missing-packs.ts";
import { stageMeter } from "../../snapshots/progress/stages.ts";
import { pruneShard } from "../../shards/prune.ts";
import { partOf, SHARDING } from "../../shards/settings.ts";
import { startReading } from "./open.ts";

/** Deletes what no snapshot needs. */
export const prune: Command = command(
  { ...READING, dryRun: flag, acceptLost: flag, acceptRollback: flag, ...SHARDING },
  async (settings, session) => {
    const part = partOf(settings);
    const run = async (shard?: BlobShard): Promise<PruneReport> => {
      await using reading = await startReading(settings, session);
      return pruneRepository(reading.opened, { ...settings, shard }, reading.reports, session);
    };
    if (part === undefined) {
      await run();
      return;
    }
    if (!settings.dryRun && !settings.acceptLost) {
      throw usage(
        "--shard needs --dry-run, or --accept-lost: snapshots that lost their markers may be in another " +
          "shard, so first run all shards with --dry-run, which fails if there are any",
      );
    }
    await pruneShard(part, settings, run, session);
  },
);

/** Adds the command that forgets the head at which a prune has ended. */
function withCommand(
  error: unknown,
  refused: ReadonlySet<string>,
  closed: ReadonlySet<string>,
  isOwner: boolean,
): unknown {
  if (!(error instanceof StorageError)) return error;
  const { cause } = error;
  const [first] = closed;
  const isClosed = cause instanceof StorageError && cause.code === "no-match";
  // A rollback may have the same cause, and is to be looked at first.
  if (error.code === "head" && isClosed && first !== undefined) {
    const forgetting = `\`idk forget --head ${first.slice(0, DIGITS_TO_ACT)}\``;
    return new Failure(
      "no-match",
      `${count(closed.size, "head")} ${closed.size === 1 ? "is" : "are"} not for your identities, so nothing is ` +
        "deleted, because what they need is not known: " +
        (isOwner
          ? `${CLOSED_TO_OWNER}; forget heads that are of no host of yours, such as with ${forgetting}, ` +
            "or all heads that do not count with `idk forget --refused`"
          : "run it with an identity that opens all snapshots, such as the owner's; if nobody has one, " +
            `the owner forgets them, such as with ${forgetting}`),
    );
  }
  const head = [...refused].find((address) => error.message.includes(address));
  if (head === undefined) return error;
  const all = refused.size > 1 ? ", or all such heads: `idk forget --refused`" : "";
  const text = `${error.message}: \`idk forget --head ${head.slice(0, DIGITS_TO_ACT)}\`${all}`;
  return new StorageError(error.code, text, { cause: error });
}

export interface PruneChoices {
  readonly dryRun: boolean;
  readonly acceptLost: boolean;
  readonly shard?: BlobShard | undefined;
}

/** The same after `idk forget --prune`. */
export async function pruneRepository(
  { repository, identities }: Pick<OpenedRepository, "repository" | "identities">,
  { dryRun, acceptLost, shard }: PruneChoices,
  reports: HeadReports,
  session: Session,
): Promise<PruneReport> {
  const { out } = session;
  using stages = stageMeter("prune", session);
  const refused = new Set<string>();
  const closed = new Set<string>();
  const report = await pruneBlobs(repository, {
    ...reports.options,
    onRefused: (one) => {
      (one.error.code === "no-match" ? closed : refused).add(one.marker.address);
      reports.options.onRefused?.(one);
    },
    dryRun,
    acceptLostHeads: acceptLost,
    shard,
    onProgress: stages.onProgress,
  }).catch((error: unknown) => {
    throw withCommand(error, refused, closed, ownsRepository(repository, identities));
  });
  stages.finish();
  await reports.finish();
  const { deleted, kept, later, missing, graceSeconds } = report;
  const verb = dryRun ? "would delete" : "deleted";
  const days = later.map(
    ({ at, blobs, bytes }) =>
      `later    ${roundBytes(bytes)} in ${count(blobs, "blob")} from ${new Date(at).toISOString().slice(0, 10)} on`,
  );
  // That of a shard is printed from its report.
  if (shard !== undefined) return report;
  await out.result(
    [
      `${verb.padEnd(8)} ${roundBytes(deleted.bytes)} in ${count(deleted.blobs, "blob")}, and ${count(deleted.markers, "marker")}`,
      `kept     ${roundBytes(kept.bytes)} in ${count(kept.blobs, "blob")}`,
      ...days,
    ].join("\n"),
    { command: "prune", ...report, dryRun },
  );
  await out.flush();
  if (out.json) return report;
  if (days.length > 0) {
    await out.note(
      `idk: data younger than the grace period, ${formatPeriod(graceSeconds)}, stays, because a backup may be using it`,
    );
  }
  await warnOfMissingPacks(missing, session);
  return report;
}
