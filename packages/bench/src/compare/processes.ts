import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../statistics/random.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import type { Pair, Side } from "./comparison.ts";
import type { Lacking, Measurer } from "./gate.ts";
import { startRound } from "./round-process.ts";
import type { Batch, Counts, Job, Reply } from "./round/job.ts";
import type { TaskInfo } from "./round/task-list.ts";
import type { Worktrees } from "./worktrees.ts";

/** A batch is long compared with the clock and short compared with the machine's changes of speed. */
const BATCH_SECONDS = 0.04;
/** Batches of each process of a pair, fewer if they are long. */
const SAMPLES = { least: 4, most: 10, seconds: 0.6 };
/** Compiled code becomes faster for some tenths of a second. */
const WARM_UPS = { least: 1, most: 8, seconds: 0.3 };
/** Growth of the batch while its length is sought, because the first operations are slow. */
const GROWTH_MOST = 8;

/** The same work for both sides of all pairs of a task. */
interface BatchPlan {
  readonly operations: number;
  readonly samples: number;
  readonly warmUps: number;
}

/** Enough that buffers, threads and compiled code are all there. */
const PEAK_BATCHES = 3;

type SideName = keyof Pair;
const SIDES = ["base", "head"] as const;

/**
 * Measures in processes in the worktrees.
 *
 * @throws Error with the revision, the task and the output, if a process fails
 */
export function processMeasurer(
  worktrees: Worktrees,
  store: ObjectStoreAccess | undefined,
  random: Random,
  signal: AbortSignal,
): Measurer {
  const { folder: parent } = worktrees;
  const plans = new Map<string, BatchPlan>();
  let processes = 0;
  const start = async (task: TaskInfo, side: SideName, mode: Job["mode"]) => {
    processes += 1;
    // Of fixed length, because signing a request hashes the object name, and hashed bytes are counted.
    const number = String(processes).padStart(6, "0");
    const folder = join(parent, number);
    await mkdir(folder);
    const objects = store && { ...store, prefix: `${store.prefix}${number}/` };
    const { name: revision, roundScript } = worktrees[side];
    return startRound({ task, revision, mode, folder, store: objects, roundScript, signal });
  };

  return {
    async pair(task) {
      await using base = await start(task, "base", "measure");
      await using head = await start(task, "head", "measure");
      const processOf = { base, head };
      for (const side of SIDES) await processOf[side].expect("ready");

      /** Runs a batch on each side, in random order, while the other waits. */
      const sample = async (operations: number): Promise<Record<SideName, Batch>> => {
        const batches = new Map<SideName, Batch>();
        for (const side of random() < 0.5 ? SIDES : SIDES.toReversed()) {
          processOf[side].send(`run ${operations}`);
          batches.set(side, await processOf[side].expect("batch"));
        }
        return { base: batches.get("base")!, head: batches.get("head")! };
      };
      const plan = plans.get(task.name) ?? (await planOf(task, sample));
      plans.set(task.name, plan);
      const { operations } = plan;
      for (let i = 0; i < plan.warmUps; i++) await sample(operations);
      const samples: Record<SideName, Batch>[] = [];
      while (samples.length < plan.samples) samples.push(await sample(operations));

      const ended = async (side: SideName): Promise<Side> => {
        processOf[side].send("end");
        const { peakRss } = await processOf[side].expect("end");
        return sideOf(
          samples.map((sample) => sample[side]),
          operations,
          peakRss,
        );
      };
      const [baseSide, headSide] = await Promise.all([ended("base"), ended("head")]);
      return { base: baseSide, head: headSide };
    },
    async count(task, side) {
      await using process = await start(task, side, "count");
      return countsOf(await process.next());
    },
  };
}

/** Measures single processes in the library of this working tree, as the comparison measures a revision's. */
export function inPlace(
  store: ObjectStoreAccess | undefined,
  signal: AbortSignal,
): {
  count(task: TaskInfo): Promise<Counts>;
  /** Peak resident memory of a process during some batches, in bytes. */
  peak(task: TaskInfo): Promise<number>;
} {
  const start = async (task: TaskInfo, mode: Job["mode"]) => {
    const folder = await mkdtemp(join(tmpdir(), "idk-count-"));
    const roundScript = join(import.meta.dir, "round/round.ts");
    const revision = "this working tree";
    return startRound({ task, revision, mode, folder, store, roundScript, signal });
  };
  return {
    async count(task) {
      await using process = await start(task, "count");
      const counts = countsOf(await process.next());
      if ("lacks" in counts) throw new Error(`${task.name} needs ${counts.lacks}`);
      return counts;
    },
    async peak(task) {
      await using process = await start(task, "measure");
      await process.expect("ready");
      const peaks: number[] = [];
      for (let i = 0; i < PEAK_BATCHES; i++) {
        process.send(`run ${task.least}`);
        peaks.push((await process.expect("batch")).peakRss);
      }
      process.send("end");
      await process.expect("end");
      return Math.max(...peaks);
    },
  };
}

/** Lengthens a batch until it is long enough, and chooses how many there are. */
async function planOf(
  { least }: TaskInfo,
  sample: (operations: number) => Promise<{ readonly base: Batch }>,
): Promise<BatchPlan> {
  let operations = least;
  let { base } = await sample(operations);
  // Once more, because the first batch is slower than all others.
  base = (await sample(operations)).base;
  while (base.seconds < BATCH_SECONDS * 0.75) {
    const factor = Math.min(GROWTH_MOST, BATCH_SECONDS / base.seconds);
    operations = Math.ceil(operations * factor);
    base = (await sample(operations)).base;
  }
  const within = ({ least, most, seconds }: typeof SAMPLES): number =>
    Math.max(least, Math.min(most, Math.floor(seconds / base.seconds)));
  return { operations, samples: within(SAMPLES), warmUps: within(WARM_UPS) };
}

function sideOf(batches: readonly Batch[], operations: number, memoryInTotal: number): Side {
  // More digits than the clock has would only make the file longer.
  const each = (seconds: number) => Number((seconds / operations).toPrecision(6));
  return {
    cpu: batches.map(({ cpuSeconds }) => each(cpuSeconds)),
    elapsed: batches.map(({ seconds }) => each(seconds)),
    memory: Math.max(...batches.map(({ peakRss }) => peakRss)),
    memoryInTotal,
  };
}

function countsOf(reply: Reply): Counts | Lacking {
  if (reply.kind === "missing") return { lacks: reply.what };
  if (reply.kind === "count") return reply.counts;
  throw new Error(`a process that counts replied ${reply.kind}`);
}
