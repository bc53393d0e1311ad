/*
 * The gate as a whole on noise that was recorded from a real comparison of a revision with itself,
 * on a machine that others were using. Each run draws rounds from it anew, so that they hold its
 * spread, and what the three processes of a round have in common.
 */
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import type { Side } from "../../src/compare/attempt.ts";
import { compareTasks } from "../../src/compare/gate.ts";
import { TASKS } from "../../src/compare/round/task-list.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const RUNS = 20;
/** What 20 % more work in sealing costs a put, of which it is half: the lesser of two measurements. */
const SEALING_FACTOR = 1.09;
const PLAN = { rounds: 20, maxRounds: 60, warmups: 2 };

interface Recorded {
  readonly tasks: Readonly<Record<string, { readonly rounds: readonly (readonly number[])[] }>>;
}

const recorded = (await Bun.file(join(import.meta.dir, "recorded-noise.json")).json()) as Recorded;

/**
 * Processes that take what recorded ones took; those of the head more, by the given factor. Which of
 * the three of a round was the fastest was chance, and is drawn anew.
 */
function replay(random: Random, factorOf: (task: string) => number) {
  let left: number[] = [];
  return async ({ name }: { name: string }, side: Side): Promise<number> => {
    if (left.length === 0) {
      const { rounds } = recorded.tasks[name]!;
      left = [...rounds[Math.floor(random() * rounds.length)]!];
    }
    const [drawn] = left.splice(Math.floor(random() * left.length), 1);
    return drawn! * (side === "head" ? factorOf(name) : 1);
  };
}

const COUNTS = { requests: 1, bytesSent: 1, bytesReceived: 1, bytesHashed: 1 };
const tasks = TASKS.filter(({ name }) => name in recorded.tasks);

async function run(seed: number, factorOf: (task: string) => number) {
  const time = replay(seededRandom(seed + 1000), factorOf);
  const measurer = { time, count: async () => COUNTS };
  const result = await compareTasks(tasks, PLAN, seededRandom(seed), measurer, () => {});
  return result.tasks.filter(({ passed }) => !passed).map(({ task }) => task);
}

const seeds = Array.from({ length: RUNS }, (_, i) => i + 1);

test("noise was recorded of every task that takes no object store", () => {
  const local = TASKS.filter(({ backendKind }) => backendKind !== "store").map(({ name }) => name);
  expect(Object.keys(recorded.tasks).toSorted()).toEqual(local.toSorted());
  for (const { rounds } of Object.values(recorded.tasks)) expect(rounds).toHaveLength(20);
});

test(`an identical head passes in ${RUNS} of ${RUNS} runs, every task of each`, async () => {
  const failed: Record<number, string[]> = {};
  for (const seed of seeds) failed[seed] = await run(seed, () => 1);
  expect(failed).toEqual(Object.fromEntries(seeds.map((seed) => [seed, []])));
}, 120_000);

describe("a head whose sealing takes 20 % more", () => {
  test(`fails in ${RUNS} of ${RUNS} runs, and by what seals alone`, async () => {
    const factorOf = (task: string) => (task === "put-memory" ? SEALING_FACTOR : 1);
    for (const seed of seeds) expect(await run(seed, factorOf)).toEqual(["put-memory"]);
  }, 120_000);
});
