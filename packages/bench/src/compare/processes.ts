/** Processes that measure tasks: in pairs for a comparison, or one alone. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Taken } from "../harness/memory.ts";
import { jobProgram } from "../harness/processes.ts";
import type { ProcessPair, ProcessSide } from "../report/report.ts";
import type { Random } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import type { Measurer } from "./gate.ts";
import type { Counts, Job, Lacking } from "./round/job.ts";
import type { TaskInfo } from "./round/task-list.ts";

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

export const ROUND: string = join(import.meta.dirname, "round/round.ts");

/** What is measured: the library that the measuring code finds where it is. */
export interface Library {
  /** The revision, for messages. */
  readonly name: string;
  /** The path of the measuring code, or of a copy. */
  readonly script: string;
}

/** Enough that buffers, threads and compiled code are all there. */
const PEAK_BATCHES = 3;

/** Where processes have their folders and store their objects. */
export type Place = { readonly folder: string } & Pick<SuiteContext, "store" | "signal">;
type Side = keyof ProcessPair;
type Batches = Readonly<Record<Side, Taken>>;

/** A process with a job: see round/job.ts. Disposing ends it and removes its folder. */
export interface RoundProcess extends AsyncDisposable {
  /** Waits for what it prints next. */
  answer(): Promise<unknown>;
  run(operations: number): Promise<Taken>;
  /** Lets it verify and remove what it stored. */
  end(): Promise<void>;
}

/**
 * Starts a process. If the signal is aborted, it is killed, and its objects remain.
 *
 * @throws Error with the task, the revision and the output, from all methods, if the process failed; the
 *   signal's reason
 */
export async function startProcess(
  { name: revision, script }: Library,
  { name: task, backendKind }: TaskInfo,
  mode: Job["mode"],
  { folder: parent, store, signal }: Place,
): Promise<RoundProcess> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(parent, "idk-process-"));
  const job: Job = { task, mode, folder, ...(backendKind === "store" && { store }) };
  const { argv, env } = jobProgram(script, job);
  const child = Bun.spawn([...argv], {
    env: { ...process.env, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    signal,
  });
  const errors = new Response(child.stderr).text();
  const lines = linesOf(child.stdout);
  const answer = async (): Promise<unknown> => {
    const { value } = await lines.next();
    if (value !== undefined) return JSON.parse(value);
    const code = await child.exited;
    signal.throwIfAborted();
    const message = (await errors).trim() || `exit code ${code}`;
    throw new Error(`${task} failed at ${revision}: ${message}`);
  };
  return {
    answer,
    async run(operations) {
      void child.stdin.write(`${operations}\n`);
      void child.stdin.flush();
      return (await answer()) as Taken;
    },
    async end() {
      void child.stdin.end();
      await answer();
    },
    async [Symbol.asyncDispose]() {
      try {
        await child.stdin.end();
      } catch {
        // A process that has ended reads no more.
      }
      await child.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
  return undefined;
}

/** Counts in a process of its own what an operation of a task costs. */
async function counts(library: Library, task: TaskInfo, place: Place): Promise<Counts | Lacking> {
  await using process = await startProcess(library, task, "count", place);
  return (await process.answer()) as Counts | Lacking;
}

/** Measures in processes with the libraries of two revisions. */
export function processMeasurer(
  libraries: Readonly<Record<Side, Library>>,
  { store, ...place }: Place,
  random: Random,
): Measurer {
  // Both prefixes have the same length, because signing a request hashes the name of the object.
  const placeOf = (side: Side): Place =>
    store ? { ...place, store: { ...store, prefix: `${store.prefix}${side}/` } } : place;
  const plans = new Map<string, BatchPlan>();
  return {
    count: (task, side) => counts(libraries[side], task, placeOf(side)),
    async pair(task) {
      await using base = await startProcess(libraries.base, task, "measure", placeOf("base"));
      await using head = await startProcess(libraries.head, task, "measure", placeOf("head"));
      await base.answer();
      await head.answer();
      /** Runs a batch on each side, in random order, while the other waits. */
      const sample = async (operations: number): Promise<Batches> =>
        random() < 0.5
          ? { base: await base.run(operations), head: await head.run(operations) }
          : { head: await head.run(operations), base: await base.run(operations) };
      const plan = plans.get(task.name) ?? (await planOf(task, sample));
      plans.set(task.name, plan);
      const { operations } = plan;
      for (let i = 0; i < plan.warmUps; i++) await sample(operations);
      const samples: Batches[] = [];
      while (samples.length < plan.samples) samples.push(await sample(operations));
      await Promise.all([base.end(), head.end()]);
      const sideOf = (side: Side): ProcessSide => {
        const batches = samples.map((each) => each[side]);
        return {
          cpu: batches.map(({ cpuSeconds }) => cpuSeconds / operations),
          elapsed: batches.map(({ seconds }) => seconds / operations),
          memory: Math.max(...batches.map(({ peakRss }) => peakRss)),
        };
      };
      return { base: sideOf("base"), head: sideOf("head") };
    },
  };
}

/** Lengthens a batch until it is long enough, and chooses how many there are. */
async function planOf(
  { least, batches }: TaskInfo,
  sample: (operations: number) => Promise<Batches>,
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
    batches * Math.max(least, Math.min(most, Math.floor(seconds / base.seconds)));
  return { operations, samples: within(SAMPLES), warmUps: within(WARM_UPS) };
}

/** Measures with the library of this working tree, as a comparison measures a revision's. */
export function inPlace(
  store: Place["store"],
  signal: AbortSignal,
): {
  count(task: TaskInfo): Promise<Counts>;
  /** Peak resident memory of a process that runs some batches, in bytes. */
  peak(task: TaskInfo): Promise<number>;
} {
  const library: Library = { name: "this working tree", script: ROUND };
  const place: Place = { folder: tmpdir(), store, signal };
  return {
    async count(task) {
      const counted = await counts(library, task, place);
      if ("lacks" in counted) throw new Error(`${task.name} needs ${counted.lacks}`);
      return counted;
    },
    async peak(task) {
      await using process = await startProcess(library, task, "measure", place);
      await process.answer();
      const peaks: number[] = [];
      while (peaks.length < PEAK_BATCHES) peaks.push((await process.run(task.least)).peakRss);
      await process.end();
      return Math.max(...peaks);
    },
  };
}
