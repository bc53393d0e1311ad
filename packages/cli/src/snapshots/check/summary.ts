import type { CheckReport } from "@idk/snapshots";
import { Failure } from "../../errors/failures.ts";
import { count, roundBytes } from "../../output/text.ts";
import { type Kind, problemsText } from "./steps.ts";

/** What a check has looked at. */
export type CheckCounts = Pick<
  CheckReport,
  "snapshots" | "forgotten" | "packs" | "metadataPacks" | "opened" | "openedBytes" | "attested"
>;

export function describeCheck(counts: CheckCounts): string {
  const { snapshots, forgotten, packs, metadataPacks, opened, openedBytes, attested } = counts;
  return (
    `checked ${count(snapshots, "snapshot")}` +
    `${forgotten > 0 ? ` (${forgotten} forgotten)` : ""}, ${count(packs, "pack")}: ` +
    `${metadataPacks} of folders, all read; ${packs - metadataPacks} of files, ${opened} read ` +
    `(${roundBytes(openedBytes)}), ${attested} by server checksum`
  );
}

/** The failure of a check that found problems; undefined if there is none. */
export function checkFailure(problems: ReadonlyMap<Kind, number>): Failure | undefined {
  if (problems.size === 0) return undefined;
  const isOnlyClosed = problems.size === 1 && problems.has("closed");
  return new Failure(isOnlyClosed ? "no-match" : "tree", `check found ${problemsText(problems)}`);
}
