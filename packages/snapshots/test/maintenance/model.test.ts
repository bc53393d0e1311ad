/*
 * Backups, interrupted ones, forgetting and its undoing, prunes, copied caches and closed chains, in random
 * schedules in which their requests interleave, over a store with a virtual clock whose times are wrong:
 * nothing that a snapshot needs may go. Forget, unforget, prune and the sessions of backups are the real
 * ones. Hosts have packs that hold nothing and a cache in memory, and in some schedules they make real
 * backups of real files, whose snapshots are checked at the end. And the model has to find rules that are
 * broken in the sources.
 *
 * A schedule follows from its seed. `IDK_MODEL_SEED` is the first one, `IDK_MODEL_SCHEDULES` how many.
 */
import type { Job, JobResult, Plant } from "./model/run-schedules.ts";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { readFileSync } from "node:fs";

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const SCHEDULES = Number(process.env["IDK_MODEL_SCHEDULES"] ?? (SLOW ? 100_000 : 200));
/** Of those in which hosts make real backups, which take longer. */
const REAL_SCHEDULES = Math.ceil(SCHEDULES / 50);
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

async function runAll(count: number, isReal: boolean): Promise<JobResult["counts"][]> {
  const results: JobResult[] = [];
  let next = FIRST_SEED;
  const end = FIRST_SEED + count;
  const run = async () => {
    while (next < end && !results.some(({ failure }) => failure !== undefined)) {
      const firstSeed = next;
      const schedules = Math.min(PER_PROCESS, Math.ceil(count / PROCESSES), end - next);
      next += schedules;
      results.push(await runJob({ firstSeed, schedules, plants: [], isReal }));
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, run));
  for (const { failure } of results) {
    if (failure === undefined) continue;
    throw new Error(
      `${failure.message}\nRun it again: IDK_MODEL_SEED=${failure.seed} IDK_MODEL_SCHEDULES=1`,
    );
  }
  return results.map(({ counts }) => counts);
}

/** That the schedules do something: how often on average, at least. */
function expectAtLeast(
  counts: readonly JobResult["counts"][],
  schedules: number,
  least: Partial<JobResult["counts"]>,
): void {
  for (const [key, perSchedule] of Object.entries(least)) {
    const sum = counts.reduce((all, one) => all + one[key as keyof typeof one], 0);
    expect(sum, key).toBeGreaterThan((perSchedule * schedules) / 2);
  }
}

test(
  `${SCHEDULES} schedules lose nothing`,
  async () => {
    const counts = await runAll(SCHEDULES, false);
    const least = { snapshots: 2, prunes: 2, pruned: 8, forgotten: 0.5, killed: 0.3 };
    expectAtLeast(counts, SCHEDULES, least);
  },
  TIMEOUT,
);

test(
  `${REAL_SCHEDULES} schedules of real backups lose nothing`,
  async () => {
    const counts = await runAll(REAL_SCHEDULES, true);
    expectAtLeast(counts, REAL_SCHEDULES, { snapshots: 1, prunes: 2, pruned: 4 });
  },
  TIMEOUT,
);

/** Schedules in which a fault has to show. */
const FAULTY = SLOW ? 20_000 : 2000;

const FOUND = "found !== undefined && found === newest";
const REFUSED =
  'if (found === undefined) return refuse("the last head of this host is not in the store any more");';
const START = "write/session/start.ts";
const SESSION = "write/session/session.ts";

const PLANTS: Readonly<Record<string, Plant | readonly Plant[]>> = {
  "a backup builds on a head that is not listed": [
    { file: START, find: FOUND, replace: "found === undefined || found === newest" },
    { file: START, find: REFUSED, replace: "" },
  ],
  "a backup builds on an old head that is not the newest": {
    file: START,
    find: FOUND,
    replace: "found !== undefined",
  },
  "a backup uses packs of an interrupted one that are too old": [
    { file: START, find: "pack.stored >= oldest", replace: "pack.stored >= 0" },
    { file: SESSION, find: "Math.min(oldest, interrupted)", replace: "oldest" },
  ],
  "a backup ends at any time": {
    file: "write/session/commit.ts",
    find: "+ times.half)",
    replace: "+ 100 * times.half)",
  },
  "a backup takes over a head without its marker": {
    file: START,
    find: "found !== undefined && found.storedAt <= pending.deadline",
    replace: "true",
  },
  "a backup builds on packs that its head does not name": {
    file: START,
    find: "hasAddress(ofBase, addressIn(pack))",
    replace: "pack.isCommitted && base !== undefined",
  },
  "prune ignores the grace period of blobs": {
    file: "maintenance/prune/deletion.ts",
    find: "Math.max(until, storedAt + grace)",
    replace: "Math.max(until, storedAt)",
  },
  "prune ignores the grace period of heads": {
    file: "maintenance/prune/prune.ts",
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
    file: "maintenance/prune/prune.ts",
    find: "  const plan = await planDeletion(repository, {\n    start,",
    replace:
      "  const plan = await planDeletion(repository, {\n    start: await repository.backend.currentTime(),",
  },
  "prune keeps no earlier lists of packs": {
    file: "maintenance/prune/protection.ts",
    find: "for (const blob of reach.blobs) blobs.add(blob);",
    replace: "if (reach === own) for (const blob of reach.blobs) blobs.add(blob);",
  },
  "prune takes the beginning of a path as protected": {
    file: "maintenance/prune/protection.ts",
    find: "covered.add(prefixKeys(addresses).at(-1)!);",
    replace: "for (const key of prefixKeys(addresses)) covered.add(key);",
  },
  "prune reads only the last list of packs": {
    file: "maintenance/prune/protection.ts",
    find: "prefixKeys(path).findLastIndex((key) => covered.has(key)) + 1",
    replace: "path.length - 1",
  },
  "unforget comes at any time": {
    file: "maintenance/forget/unforget.ts",
    find: "noPruneRuns ? Infinity : forgetting.storedAt + halfGrace",
    replace: "Infinity",
  },
};

/** Those that show soon enough for every run. */
const SOON = new Set([
  "a backup builds on a head that is not listed",
  "a backup uses packs of an interrupted one that are too old",
  "a backup ends at any time",
  "a backup takes over a head without its marker",
  "prune ignores the grace period of blobs",
  "prune ignores the grace period of heads",
  "prune ignores when a snapshot was forgotten",
  "prune ignores that a snapshot was not forgotten",
]);
const chosen = Object.entries(PLANTS).filter(([what]) => SLOW || SOON.has(what));

test("the sources have what each fault replaces, once", () => {
  for (const [what, fault] of Object.entries(PLANTS)) {
    for (const { file, find } of "file" in fault ? [fault] : fault) {
      const source = readFileSync(join(import.meta.dir, "../../src", file), "utf8");
      expect(source.split(find).length - 1, `${what}: ${find}`).toBe(1);
    }
  }
});

test.each(chosen)(
  "is noticed: %s",
  async (_, fault) => {
    const plants = "file" in fault ? [fault] : fault;
    const job = { plants, firstSeed: FIRST_SEED, schedules: FAULTY };
    const { failure } = await runJob(job);
    expect(failure?.message).toStartWith("Lost: ");
  },
  TIMEOUT,
);
