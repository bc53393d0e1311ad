/*
 * Backups, interrupted ones, forgetting and its undoing, prunes, copied caches and closed chains, in random
 * schedules in which their requests interleave, over a store with a virtual clock whose times are wrong:
 * nothing that a snapshot needs may go. Hosts are a model of the rules of writing; forget, unforget and
 * prune are the real ones. And the model has to find rules that are broken.
 *
 * A schedule follows from its seed. `IDK_MODEL_SEED` is the first one, `IDK_MODEL_SCHEDULES` how many.
 */
import type { Job, JobResult, Plant } from "./model/run-schedules.ts";
import { expect, test } from "bun:test";
import type { WritingRules } from "./model/host.ts";
import { join } from "node:path";

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const SCHEDULES = Number(process.env["IDK_MODEL_SCHEDULES"] ?? (SLOW ? 100_000 : 200));
const FIRST_SEED = Number(process.env["IDK_MODEL_SEED"] ?? 1);
/** Schedules that a process runs one after the other. */
const PER_PROCESS = 1000;
const PROCESSES = Math.max(1, Math.min(8, navigator.hardwareConcurrency));
const TIMEOUT = 4 * 60 * 60 * 1000;

async function runJob(job: Job): Promise<JobResult> {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "model/run-schedules.ts"), JSON.stringify(job)],
    { stdout: "pipe", stderr: "pipe" },
  );
  const [text, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(errors);
  return JSON.parse(text) as JobResult;
}

test(
  `${SCHEDULES} schedules lose nothing`,
  async () => {
    const results: JobResult[] = [];
    let next = FIRST_SEED;
    const end = FIRST_SEED + SCHEDULES;
    const run = async () => {
      while (next < end && !results.some(({ failure }) => failure !== undefined)) {
        const firstSeed = next;
        const schedules = Math.min(PER_PROCESS, Math.ceil(SCHEDULES / PROCESSES), end - next);
        next += schedules;
        results.push(await runJob({ firstSeed, schedules, broken: [], plants: [] }));
      }
    };
    await Promise.all(Array.from({ length: PROCESSES }, run));
    for (const { failure } of results) {
      if (failure === undefined) continue;
      throw new Error(
        `${failure.message}\nRun it again: IDK_MODEL_SEED=${failure.seed} IDK_MODEL_SCHEDULES=1`,
      );
    }
    // And they are not empty.
    const least = { snapshots: 2, prunes: 2, pruned: 8, forgotten: 0.5, killed: 0.3 } as const;
    for (const [key, perSchedule] of Object.entries(least)) {
      const sum = results.reduce((all, { counts }) => all + counts[key as keyof typeof least], 0);
      expect(sum, key).toBeGreaterThan((perSchedule * SCHEDULES) / 2);
    }
  },
  TIMEOUT,
);

/** Schedules in which a fault has to show. */
const FAULTY = 2000;

const BROKEN: readonly (keyof WritingRules)[] = [
  "requiresListedBase",
  "requiresNewestBase",
  "forgetsInterrupted",
  "endsInTime",
  "looksAtMarker",
];

const PLANTS: Readonly<Record<string, Plant>> = {
  "prune ignores the grace period of blobs": {
    file: "maintenance/deletion.ts",
    find: "Math.max(until, storedAt + grace)",
    replace: "Math.max(until, storedAt)",
  },
  "prune ignores the grace period of heads": {
    file: "maintenance/prune.ts",
    find: "deathsOf({ heads, refused, forgettings, owner, grace })",
    replace: "deathsOf({ heads, refused, forgettings, owner, grace: 0 })",
  },
  "prune ignores when a snapshot was forgotten": {
    file: "rules/death.ts",
    find: "? forgetting.storedAt : Infinity",
    replace: "? -Infinity : Infinity",
  },
  "prune ignores that a snapshot was not forgotten": {
    file: "rules/death.ts",
    find: "          forgottenAt(payload, byAnyone),\n",
    replace: "",
  },
  "prune ignores how old the newer snapshot is": {
    file: "rules/death.ts",
    find: "newerSnapshot = Math.min(newerSnapshot, firstAt);",
    replace: "newerSnapshot = -Infinity;",
  },
  "prune ignores when a chain was closed": {
    file: "rules/death.ts",
    find: "earliest = Math.min(earliest, Math.max(firstAt, last));",
    replace: "earliest = -Infinity;",
  },
  "prune lets a part go without a newer head": {
    file: "rules/death.ts",
    find: "Math.max(lastAt, Math.min(newerHead, closedAt))",
    replace: "lastAt",
  },
  "prune obeys a forgetting that was undone": {
    file: "rules/death.ts",
    find: 'forgetting?.head.kind === "forget" ?',
    replace: "forgetting !== undefined ?",
  },
  "prune notes the time after it has read the heads": {
    file: "maintenance/prune.ts",
    find: "  const plan = await planDeletion(repository, {\n    start,",
    replace:
      "  const plan = await planDeletion(repository, {\n    start: await repository.backend.currentTime(),",
  },
  "prune keeps no earlier lists of packs": {
    file: "maintenance/protection.ts",
    find: "for (const blob of reach.blobs) blobs.add(blob);",
    replace: "if (reach === own) for (const blob of reach.blobs) blobs.add(blob);",
  },
  "prune takes the beginning of a path as protected": {
    file: "maintenance/protection.ts",
    find: "covered.add(keys.at(-1)!);",
    replace: "for (const key of keys) covered.add(key);",
  },
  "prune reads only the last list of packs": {
    file: "maintenance/protection.ts",
    find: "const from = keys.findLastIndex((key) => covered.has(key)) + 1;",
    replace: "const from = path.length - 1;",
  },
  "unforget does not look at the time of its marker": {
    file: "maintenance/write-forgetting.ts",
    find: "return listed.storedAt <= deadline;",
    replace: "return true;",
  },
  "unforget comes at any time": {
    file: "maintenance/unforget.ts",
    find: "noPruneRuns ? Infinity : forgetting.storedAt + halfGrace",
    replace: "Infinity",
  },
};

const faults: Record<string, Pick<Job, "broken" | "plants">> = {};
for (const rule of BROKEN) faults[`hosts break ${rule}`] = { broken: [rule], plants: [] };
for (const [what, one] of Object.entries(PLANTS)) faults[what] = { broken: [], plants: [one] };

/** Those that show soon enough for every run. */
const SOON = new Set([
  "hosts break requiresNewestBase",
  "hosts break forgetsInterrupted",
  "prune ignores the grace period of blobs",
  "prune ignores the grace period of heads",
  "prune ignores when a snapshot was forgotten",
  "prune ignores that a snapshot was not forgotten",
]);
const chosen = Object.entries(faults).filter(([what]) => SLOW || SOON.has(what));

test.each(chosen)(
  "is noticed: %s",
  async (_, fault) => {
    const job = { ...fault, firstSeed: FIRST_SEED, schedules: FAULTY };
    const { failure } = await runJob(job);
    expect(failure?.message).toStartWith("Lost: ");
  },
  TIMEOUT,
);
