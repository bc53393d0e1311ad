/*
 * Tests the gate with noise recorded from a real comparison of a revision with itself on a busy machine.
 * Each run draws whole rounds from it, which keeps the spread and the correlation within a round.
 */
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import type { Side } from "../../src/compare/attempt.ts";
import { compareTasks } from "../../src/compare/gate.ts";
import { TASKS } from "../../src/compare/round/task-list.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const RUNS = 20;
/** The slowdown of a put if sealing, half of its time, takes 20 % longer: the lesser of two measurements. */
const SEALING_FACTOR = 1.09;
const PLAN = { rounds: 20, maxRounds: 60, warmups: 2 };

interface Recorded {
  readonly tasks: Readonly<Record<string, { readonly rounds: readonly (readonly number[])[] }>>;
}

const recorded = (await Bun.file(join(import.meta.dir, "recorded-noise.json")).json()) as Recorded;

/**
 * Replays recorded times, multiplied by the given factor for the head. The order of the three times of a
 * round was random and is drawn again.
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

test("there is recorded noise for every task without an object store", () => {
  const local = TASKS.filter(({ backendKind }) => backendKind !== "store").map(({ name }) => name);
  expect(Object.keys(recorded.tasks).toSorted()).toEqual(local.toSorted());
  for (const { rounds } of Object.values(recorded.tasks)) expect(rounds).toHaveLength(20);
});

test(`an identical head passes all tasks in ${RUNS} of ${RUNS} runs`, async () => {
  const failed: Record<number, string[]> = {};
  for (const seed of seeds) failed[seed] = await run(seed, () => 1);
  expect(failed).toEqual(Object.fromEntries(seeds.map((seed) => [seed, []])));
}, 120_000);

describe("a head with sealing 20 % slower", () => {
  test(`fails in ${RUNS} of ${RUNS} runs, and only for the task that seals`, async () => {
    const factorOf = (task: string) => (task === "put-memory" ? SEALING_FACTOR : 1);
    for (const seed of seeds) expect(await run(seed, factorOf)).toEqual(["put-memory"]);
  }, 120_000);
});
