/*
 * The power of the gate. Whole comparisons are simulated with the code that decides, including further
 * pairs and second measurements, on the noise of real comparisons of a revision with itself
 * (record-noise.ts). A simulated pair is one of the recorded ones, whose batches are drawn again, and whose
 * sides are exchanged half of the time: both are the same revision, so that no difference is the truth.
 */
import { expect, test } from "bun:test";
import { type GateResult, type Measurer, compareTasks } from "../../src/compare/gate.ts";
import { COUNTER_WORDS, type CounterName, type Counts } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";
import { mean, sum } from "simple-statistics";
import { median } from "../../src/statistics/describe.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";
import { type Factor, type NoisePair, pairOf, recordedNoise } from "./recorded-noise.ts";

/** The defaults of the command. */
const PLAN = { pairs: 6, maxPairs: 24 };
const RUNS = process.env["IDK_TEST_SLOW"] === "1" ? 2000 : 200;
const LEAST = 0.95;

const { runs, tasks: noise } = await recordedNoise();
const pools = new Map([...noise].map(([task, pairs]) => [task, pairs.flat()]));
const simulatedTasks = TASKS.filter(({ name }) => pools.has(name));

const COUNTERS = Object.keys(COUNTER_WORDS) as CounterName[];
const COUNTS: Counts = Object.fromEntries(COUNTERS.map((name) => [name, 2]));

/** A measurer that replays noise, with a change in the head. */
function replay(
  random: Random,
  factorOf: (task: string) => Factor,
  head: Counts = COUNTS,
): Measurer {
  const any = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  return {
    async pair({ name }) {
      const { cpu, elapsed, memory } = any(pools.get(name)!);
      // CPU time and elapsed time of a batch belong together.
      const batches = cpu.map(() => Math.floor(random() * cpu.length));
      const sign = random() < 0.5 ? -1 : 1;
      const drawn: NoisePair = {
        cpu: batches.map((i) => sign * cpu[i]!),
        elapsed: batches.map((i) => sign * elapsed[i]!),
        memory: sign * memory,
      };
      return pairOf(drawn, factorOf(name));
    },
    count: async (_, side) => (side === "head" ? head : COUNTS),
  };
}

async function simulate(
  seed: number,
  tasks: readonly TaskInfo[],
  factor: Factor = {},
): Promise<GateResult["compared"]> {
  const measurer = replay(seededRandom(seed), () => factor);
  return (await compareTasks(tasks, PLAN, measurer, () => {})).compared;
}

/** The names of the targets that are not met. */
function unmet(compared: GateResult["compared"], verdict: "missed" | "inconclusive"): string[] {
  return compared
    .flatMap(({ quantities, changes }) => [...quantities, ...changes])
    .flatMap((target) => (target.verdict === verdict ? [target.name] : []));
}

/** Fewer runs, or those of a machine that did other things, show that this works and nothing more. */
const recorded = runs >= 10 ? test : test.skip;

const seeds = Array.from({ length: RUNS }, (_, i) => i + 1);

/** The share of simulated measurements of one task in which a quantity is worse twice. */
async function found(task: TaskInfo, quantity: string, factor: Factor): Promise<number> {
  let count = 0;
  for (const seed of seeds) {
    const missed = unmet(await simulate(seed, [task], factor), "missed");
    if (missed.includes(`${task.name}: ${quantity}`)) count += 1;
  }
  return count / RUNS;
}

recorded("there is recorded noise for every task, from ten runs", () => {
  expect([...noise.keys()].toSorted()).toEqual(TASKS.map(({ name }) => name).toSorted());
});

recorded("each recorded run, as it was, has no task that is worse", async () => {
  for (let run = 0; run < runs; run++) {
    const own = TASKS.filter(({ name }) => noise.get(name)?.[run] !== undefined);
    const taken = new Map<string, number>();
    const measurer: Measurer = {
      async pair({ name }) {
        const next = taken.get(name) ?? 0;
        taken.set(name, next + 1);
        const pairs = noise.get(name)![run]!;
        return pairOf(pairs[next % pairs.length]!);
      },
      count: async () => COUNTS,
    };
    const { compared } = await compareTasks(own, { pairs: 6, maxPairs: 8 }, measurer, () => {});
    expect(unmet(compared, "missed")).toEqual([]);
  }
});

recorded(
  "runs differ no more than their pairs explain, so that pairs of all runs are one pool",
  () => {
    const ratios = [...noise].flatMap(([, own]) =>
      (["cpu", "elapsed"] as const).map((quantity) =>
        varianceRatio(own.map((pairs) => pairs.map((pair) => median(pair[quantity])))),
      ),
    );
    // Without any effect of the run, the ratio is 1 on average.
    expect(mean(ratios)).toBeLessThan(2);
  },
);

/** The variance between groups to that within them (Fisher's F), 1 on average if groups are alike. */
function varianceRatio(groups: readonly (readonly number[])[]): number {
  const all = groups.flat();
  const between = sum(groups.map((group) => group.length * (mean(group) - mean(all)) ** 2));
  const within = sum(groups.map((group) => sum(group.map((value) => (value - mean(group)) ** 2))));
  return between / (groups.length - 1) / (within / (all.length - groups.length));
}

recorded(
  "whole runs without a change are called the same",
  async () => {
    let worse = 0;
    let unclear = 0;
    let pairs = 0;
    const inconclusive = new Map<string, number>();
    for (const seed of seeds) {
      const compared = await simulate(seed, simulatedTasks);
      const warnings = unmet(compared, "inconclusive");
      if (unmet(compared, "missed").length > 0) worse += 1;
      else if (warnings.length > 0) unclear += 1;
      for (const name of warnings) inconclusive.set(name, (inconclusive.get(name) ?? 0) + 1);
      for (const attempt of compared.flatMap(({ attempts }) => attempts)) {
        pairs += attempt.pairs.length;
      }
    }
    console.log(
      `of ${RUNS} runs without a change, ${worse} have a worse task and ${unclear} an inconclusive one; ` +
        `${(pairs / RUNS / simulatedTasks.length).toFixed(1)} pairs a task`,
      Object.fromEntries(inconclusive),
    );
    expect(1 - worse / RUNS).toBeGreaterThanOrEqual(LEAST);
    expect(1 - (worse + unclear) / RUNS).toBeGreaterThanOrEqual(LEAST);
  },
  120_000,
);

recorded.each([
  ["10 % more CPU time", "CPU time", { cpu: 1.1, elapsed: 1.1 }],
  ["30 % more elapsed time", "elapsed time", { elapsed: 1.3 }],
] as const)(
  "%s of any task is found",
  async (_, quantity, factor) => {
    const shares: Record<string, number> = {};
    for (const task of TASKS) {
      const share = await found(task, quantity, factor);
      if (share < LEAST) shares[task.name] = share;
    }
    expect(shares).toEqual({});
  },
  120_000,
);

test("one more of any counter is always found", async () => {
  const [task] = TASKS;
  for (const name of COUNTERS) {
    for (const seed of seeds.slice(0, 20)) {
      const more: Counts = { ...COUNTS, [name]: COUNTS[name]! + 1 };
      const measurer = replay(seededRandom(seed), () => ({}), more);
      const { compared } = await compareTasks([task!], PLAN, measurer, () => {});
      expect(unmet(compared, "missed")).toHaveLength(1);
    }
  }
});
