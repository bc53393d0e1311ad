/**
 * How the time and memory of put and get grow with content length and the number of recipients: the
 * exponent e of time ~ length^e; and how much faster threads make them. Each length runs in its own
 * processes, so that memory left by one does not count for another.
 */
import { availableParallelism } from "node:os";
import {
  createStore,
  formatIdentity,
  generateIdentity,
  parseIdentity,
  wrapBackend,
} from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { memory } from "@idk/storage/memory";
import { expectBytes, hashOf, lengthOf, noise, sha256, sizeName } from "../../harness/content.ts";
import { withFolder } from "../../harness/files.ts";
import { storeOf } from "../../harness/identity.ts";
import { watchLoad } from "../../harness/machine.ts";
import { type Measured, measurePeak, resetPeakRss } from "../../harness/memory.ts";
import { answerJob, runJob } from "../../harness/processes.ts";
import { type Findings, type Labels, labelsFor, lookup, together } from "../../harness/results.ts";
import { type Lane, type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { type Task, sampleInterleaved } from "../../harness/sampling.ts";
import {
  exactTarget,
  exponentTarget,
  lackCores,
  ratioTarget,
  sampledTarget,
  unlessBusy,
} from "../../harness/targets.ts";
import type { Measurement, Target } from "../../report/report.ts";
import { median } from "../../statistics/describe.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { simulatedShards } from "../shards/simulated.ts";
import { type StoreInMemory, storeInMemory } from "./serial-bound.ts";

const MIB = 2 ** 20;
const WAYS = ["put", "get"] as const;
/** 1 is linear; the rest is the tolerance for caches, threads and a busy machine. */
const TIME_MOST = 1.1;
const MEMORY_MOST = 0.5;
/** Resident memory of the process at any length, with any number of threads. */
const PEAK_MOST = 256 * MIB;
/** The memory of two chunks: below it, the allocator decides and not the length. */
const MEMORY_FLOOR = 8 * MIB;

export async function scaling(context: SuiteContext): Promise<Findings> {
  if (context.options?.["simulate"]) return simulatedShards(context);
  const notes = [
    "An exponent of 1 is linear; if a constant part dominates, it is near 0. Those of time are of CPU time, which other load does not change.",
    "By length: streams, each in its own process after a warm-up; puts go to a backend that discards them, gets read from a folder that was just written. The exponent of memory is that of the increase over the process before the operation, where less than 8 MiB, two chunks, counts as 8 MiB; the peak is the resident memory of the whole process.",
    "By recipients: 64 KiB in memory; the last recipient gets it.",
  ];
  const parts = [await byLength(context), await byRecipients(context), { notes }];
  const { quick, iterations, seed, signal, log } = context;
  log("0 to 8 threads");
  const job: ThreadsJob = { quick, iterations, seed };
  return together([...parts, await runJob<Findings>(import.meta.path, job, { signal })]);
}

async function byLength({
  quick,
  sizes = (quick ? [1, 4, 16] : [1, 4, 16, 64, 256]).map((mib) => mib * MIB),
  iterations: rounds = quick ? 1 : 3,
  signal,
  log,
}: SuiteContext): Promise<Sampled> {
  const wrong = sizes.find((size) => size % MIB !== 0 || size === 0);
  if (wrong !== undefined) throw new RangeError("the sizes of this suite must be whole MiB");
  const identity = formatIdentity(await generateIdentity());
  const increases = new Map<string, number>();
  return withFolder(async (folder) => {
    const laneOf = async (size: number): Promise<Lane> => {
      log(`${sizeName(size)}, ${rounds} rounds`);
      const labels = WAYS.map(labelsFor(size));
      const run = (way: Job["way"], address?: string) => {
        const warmUps = quick ? 1 : 4;
        const job: Job = { way, mib: size / MIB, folder, identity, warmUps, address };
        return runJob<Outcome>(import.meta.path, job, { signal });
      };
      const { result: address } = await run("keep");
      const sample = async () => {
        const both = [await run("put"), await run("get", address)];
        for (const [i, { name }] of labels.entries()) {
          const most = increases.get(name) ?? MEMORY_FLOOR;
          increases.set(name, Math.max(most, both[i]!.increase));
        }
        return both;
      };
      return { labels, sample };
    };
    const lanes = await Array.fromAsync(sizes, laneOf);
    return sampleLanes(lanes, { rounds, warmups: 0, signal }, (of) =>
      WAYS.flatMap((way) => {
        const own = sizes.map((size) => of(`${way} ${sizeName(size)}`));
        const increase = ({ name }: Measurement) => increases.get(name)!;
        const peak = Math.max(...own.map(({ peakRss = Number.NaN }) => peakRss));
        const highest = `${way}: highest peak of resident memory`;
        return [
          growth(`${way}: CPU time by length`, own, cpuOf, TIME_MOST),
          growth(`${way}: memory by length`, own, increase, MEMORY_MOST),
          exactTarget(highest, peak, "bytes", { most: PEAK_MOST }),
        ];
      }),
    );
  });
}

interface Job {
  /**
   * `put` writes to a backend that discards everything, so that the disk is not measured. `keep` writes
   * to the folder, for the gets.
   */
  readonly way: "put" | "keep" | "get";
  /** Content length in MiB. */
  readonly mib: number;
  readonly folder: string;
  readonly identity: string;
  /** Number of puts and gets before, because a new process compiles code first. */
  readonly warmUps: number;
  readonly address?: string | undefined;
}

/** The result is the address, the increase that of resident memory, from before to the peak, in bytes. */
type Outcome = Measured<string> & { readonly increase: number };

export async function work({ way, mib, folder, warmUps, address, ...job }: Job): Promise<Outcome> {
  const identity = parseIdentity(job.identity);
  const backend = filesystem(folder, { durability: "none" });
  await using store = storeOf(identity, { backend });
  let kept = false;
  const discards = wrapBackend(backend, {
    put:
      (put) =>
      async (...call) =>
        void (kept && (await put(...call))),
  });
  await using discarding = storeOf(identity, { backend: discards });
  const get = async (from: string): Promise<string> => {
    await lengthOf((await store.get(from)).chunks());
    return from;
  };
  for (let i = 0; i < warmUps; i++) {
    await store.deleteTree(await get(await store.put(pieces(2))));
    await discarding.put(pieces(2));
  }
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  resetPeakRss();
  const works = {
    put: () => discarding.put(pieces(mib)),
    keep: () => store.put(pieces(mib)),
    get: () => get(address!),
  };
  const measured = await measurePeak<string>(works[way]);
  kept = true;
  // What was discarded is put once more, by the same store.
  const stored = way === "put" ? await discarding.put(pieces(mib)) : measured.result;
  const found = await hashOf((await store.get(stored)).chunks());
  if (found !== (await hashOf(pieces(mib)))) throw new Error("wrong bytes came back");
  if (way === "put") await store.deleteTree(stored);
  return { ...measured, increase: Math.max(0, measured.peakRss - before) };
}

/** Pieces of random bytes, each overwritten after three further ones. */
const ring = Array.from({ length: 4 }, (_, i) => noise(MIB, seededRandom(i)));

/** Each piece starts with its number, so that a hash finds pieces in another order. */
async function* pieces(mib: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < mib; i++) {
    const piece = ring[i % ring.length]!;
    new DataView(piece.buffer).setUint32(0, i);
    yield piece;
  }
}

async function byRecipients({
  quick,
  iterations: rounds = quick ? 3 : 10,
  signal,
  seed,
  log,
}: SuiteContext): Promise<Sampled> {
  const counts = quick ? [1, 8, 64] : [1, 4, 16, 64, 256, 1024];
  log(`up to ${counts.at(-1)} recipients`);
  const identities = await Promise.all(Array.from({ length: counts.at(-1)! }, generateIdentity));
  const content = noise(65_536, seededRandom(seed));
  const hash = sha256(content);
  const tasksOf = async (count: number): Promise<Task[]> => {
    const own = identities.slice(0, count);
    const recipients = own.map(({ recipient }) => recipient);
    const store = createStore({ backend: memory(), recipients, identities: own.slice(-1) });
    let address = await store.put(content);
    const get = async () => (await store.get(address)).bytes();
    const labels = (way: string) => labelsBy("recipients", way, count, content.length);
    return [
      {
        ...labels("put"),
        prepare: () => store.delete(address),
        run: async () => (address = await store.put(content)),
        check: async () => expectBytes(await get(), hash),
      },
      { ...labels("get"), run: get, check: (bytes) => expectBytes(bytes as Uint8Array, hash) },
    ];
  };
  const tasks = (await Promise.all(counts.map(tasksOf))).flat();
  return sampleInterleaved(tasks, { rounds, warmups: 2, signal }, (of) =>
    WAYS.map((way) => {
      const own = counts.map((count) => of(`${way}, recipients: ${count}`));
      return growth(`${way}: CPU time by recipients`, own, cpuOf, TIME_MOST);
    }),
  );
}

/** The least speed of two threads, as a multiple of that without. */
const FASTER = 1.2;
/** The least share of CPU time outside of the calling thread, with two threads. */
const ELSEWHERE = 0.4;

type ThreadsJob = Pick<SuiteContext, "quick" | "iterations" | "seed">;

/** In a child process, because many objects on the heap, as other suites leave them, slow collections. */
async function byThreads({
  quick,
  iterations: rounds = quick ? 1 : 5,
  seed,
}: ThreadsJob): Promise<Findings> {
  const size = (quick ? 32 : 128) * MIB;
  const content = noise(size, seededRandom(seed));
  const ways = { put: "put of bytes", get: "get into memory" } as const;
  const tasksOf = (store: StoreInMemory, count: number) =>
    WAYS.map((way) => Object.assign(labelsBy("threads", way, count, size), store.ways[ways[way]]));
  await using none = await storeInMemory(content, 0);
  await using two = await storeInMemory(content, 2);
  const load = watchLoad();
  const alone = tasksOf(none, 0).map((task) => {
    const check = async (result: unknown) => {
      await task.check?.(result);
      await load.look();
    };
    return Object.assign({}, task, { check });
  });
  const both = [...alone, ...tasksOf(two, 2)];
  const judged = await sampleInterleaved(both, { rounds }, (of) =>
    WAYS.flatMap((way) => {
      const [slow, fast] = [of(`${way}, threads: 0`), of(`${way}, threads: 2`)];
      const faster = `${way}: speed with 2 threads, to that without`;
      const share = `${way}: share of the CPU time that 2 threads take over`;
      const measured = two.threads[ways[way]]!.slice(-fast.samples.length);
      const shares = measured.map((times) => 1 - 1 / times);
      const cpu = { unit: "ratio", kind: "cpu" } as const;
      return [
        unlessBusy(
          ratioTarget(faster, { of: slow, to: fast }, { least: FASTER }),
          lackCores([slow], load),
        ),
        sampledTarget(share, shares, { least: ELSEWHERE }, cpu),
      ];
    }),
  );
  const shown: Findings[] = [];
  for (const count of [1, 4, 8]) {
    await using store = await storeInMemory(content, count);
    const once = { rounds: 1, warmups: 0 };
    shown.push(await sampleInterleaved(tasksOf(store, count), once));
  }
  const { measurements, targets } = together([judged, ...shown]);
  const of = lookup(measurements);
  const notes = WAYS.map((way) => {
    const seconds = (count: number) => of(`${way}, threads: ${count}`).distribution.p50;
    const speed = (count: number) => `${(seconds(0) / seconds(count)).toFixed(2)} with ${count}`;
    return `${way} of ${sizeName(size)} in memory, on ${availableParallelism()} cores, times the speed without threads: ${[1, 2, 4, 8].map(speed).join(", ")}.`;
  });
  return { measurements, targets, notes };
}

function labelsBy(
  unit: "recipients" | "threads",
  way: string,
  count: number,
  bytesPerOperation: number,
): Labels {
  const x = { value: count, unit };
  return { name: `${way}, ${unit}: ${count}`, series: `${way}, by ${unit}`, x, bytesPerOperation };
}

function cpuOf({ cpuSamples }: Measurement): number {
  return median(cpuSamples ?? []);
}

function growth(
  name: string,
  measurements: readonly Measurement[],
  valueOf: (measurement: Measurement) => number,
  most: number,
): Target {
  const points = measurements.map((each) => [each.x!.value, valueOf(each)] as const);
  return exponentTarget(`${name}: exponent`, points, most);
}

await answerJob((job: Job | ThreadsJob) => ("way" in job ? work(job) : byThreads(job)));
