import { type CheckOptions, type CheckProblem, type CheckReport, isHarmless } from "@idk/snapshots";
import type { StoreLocation } from "@idk/storage/url";
import type { Session } from "../session.ts";
import { isClosed, type Kind } from "../snapshots/check-steps.ts";
import { FOUND, type ReportedFailure } from "./report.ts";
import { openProgress } from "./run-shard.ts";
import type { Part } from "./settings.ts";
import { blobShard } from "./shard.ts";
import { storeText } from "./store-text.ts";
import { conclude, noteLeft } from "./summary.ts";

/** A check of a part of the packs. */
export interface CheckShard extends AsyncDisposable {
  /** Whether an earlier run has done it. */
  readonly isComplete: boolean;
  readonly options: Pick<CheckOptions, "shard" | "isKnownSound" | "onSound">;
  /** @param message what is printed of the problem */
  add(problem: CheckProblem, message: string): void;
  finish(report: CheckReport, problems: ReadonlyMap<Kind, number>): Promise<void>;
  /** Prints the summary. @throws Failure that of the check */
  conclude(): Promise<void>;
}

/** Milliseconds between two records of the progress. */
const INTERVAL = 1000;

/** Begins or continues the check of a shard: packs that an earlier run found sound are not read again. */
export async function startCheckShard(
  { shard, report: path }: Part,
  location: StoreLocation,
  options: { readonly readData: number; readonly serverChecksums: boolean },
  session: Session,
): Promise<CheckShard> {
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
    await progress.record({ place: 0, after: "", sound: addresses }, counts, []);
  };
  return {
    isComplete: progress.report.position === undefined,
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
      await progress.finish(counts, failures, { snapshots, forgotten, directories });
    },
    conclude: () => conclude(progress.report, session),
    async [Symbol.asyncDispose]() {
      await saving;
      await noteLeft(progress.report, session);
    },
  };
}

const DIGITS = 64;

function addressesIn(base64: string): string[] {
  const digits = Buffer.from(base64, "base64").toString("hex");
  const count = Math.floor(digits.length / DIGITS);
  return Array.from({ length: count }, (_, at) => digits.slice(at * DIGITS, (at + 1) * DIGITS));
}
