import { type CheckOptions, type CheckProblem, type CheckReport, isHarmless } from "@idk/snapshots";
import type { StoreLocation } from "@idk/storage/url";
import type { Session } from "../session.ts";
import { isClosed, type Kind } from "../snapshots/check/steps.ts";
import { FOUND, type ReportedFailure } from "./report.ts";
import { openProgress } from "./run-shard.ts";
import type { Part } from "./settings.ts";
import { blobShard } from "./shard.ts";
import { storeText } from "./store-text.ts";
import { conclude, noteStopped } from "./summary.ts";

/** A check of a part of the packs. */
export interface CheckShard {
  readonly options: Pick<CheckOptions, "shard" | "isKnownSound" | "onSound">;
  /** @param message what is printed of the problem */
  add(problem: CheckProblem, message: string): void;
  finish(report: CheckReport, problems: ReadonlyMap<Kind, number>): Promise<void>;
}

/** Milliseconds between two records of the progress. */
const INTERVAL = 1000;

/**
 * Begins or continues the check of a shard, and concludes: packs that an earlier run found sound are not read
 * again.
 *
 * @param check checks, unless an earlier run has done it
 */
export async function checkShard(
  { shard, report: path }: Part,
  location: StoreLocation,
  options: { readonly readData: number; readonly serverChecksums: boolean },
  check: (shard: CheckShard) => Promise<void>,
  session: Session,
): Promise<void> {
  const subject = {
    command: "check",
    options: { ...options, readData: String(options.readData) },
    stores: [await storeText(location)],
    shard,
  } as const;
  const progress = await openProgress(path, subject, session);
  const sound = addressesIn(progress.report.position?.sound ?? "");
  const known = new Set(sound);
  /** In this run: recorded, and not recorded yet. */
  const recorded = { opened: 0, openedBytes: 0, attested: 0 };
  let added = { opened: 0, openedBytes: 0, attested: 0 };
  const failures: ReportedFailure[] = [];
  let saving = Promise.resolve();
  let savedAt = -Infinity;

  const save = async (): Promise<void> => {
    const counts = added;
    added = { opened: 0, openedBytes: 0, attested: 0 };
    for (const name of ["opened", "openedBytes", "attested"] as const) {
      recorded[name] += counts[name];
    }
    const addresses = Buffer.from(sound.join(""), "hex").toString("base64");
    await progress.record({ place: 0, after: "", sound: addresses }, { counts });
  };
  const checking: CheckShard = {
    options: {
      shard: blobShard(shard),
      isKnownSound: (pack) => known.has(pack),
      onSound(pack, opened) {
        sound.push(pack);
        if (opened === undefined) added.attested += 1;
        else {
          added.opened += 1;
          added.openedBytes += opened;
        }
        if (performance.now() - savedAt < INTERVAL) return;
        savedAt = performance.now();
        // The next save writes what this one could not, and so does the end.
        saving = saving.then(save).catch(() => undefined);
      },
    },
    add(problem, message) {
      if (isHarmless(problem)) return;
      failures.push({ code: isClosed(problem) ? "no-match" : "tree", message });
    },
    async finish(report, problems) {
      await saving;
      const { snapshots, forgotten, directories, packs, metadataPacks } = report;
      const found = [...problems].map(([kind, number]) => [`${FOUND}${kind}`, number]);
      const counts = {
        packs,
        metadataPacks,
        opened: report.opened - recorded.opened,
        openedBytes: report.openedBytes - recorded.openedBytes,
        attested: report.attested - recorded.attested,
        ...(Object.fromEntries(found) as Record<string, number>),
      };
      await progress.finish({ counts, failures }, { snapshots, forgotten, directories });
    },
  };
  if (progress.report.position !== undefined) {
    try {
      await check(checking);
    } catch (error) {
      await saving;
      await noteStopped(error, progress.report, session);
      throw error;
    }
  }
  await conclude(progress.report, session);
}

const DIGITS = 64;

function addressesIn(base64: string): string[] {
  const digits = Buffer.from(base64, "base64").toString("hex");
  const count = Math.floor(digits.length / DIGITS);
  return Array.from({ length: count }, (_, at) => digits.slice(at * DIGITS, (at + 1) * DIGITS));
}
