/**
 * How the time and memory of put and get grow with content length and the number of recipients: the
 * exponent e of time ~ length^e; and how much faster threads make them. Each length runs in its own
 * processes, so that memory left by one does not count for another.
 */
import { rm } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { noise, sizeName, expectBytes, sha256 } from "../harness/content.ts";
import { temporaryFolder } from "../harness/files.ts";
import { runJob } from "../harness/processes.ts";
import { type Findings, type Lookup, lookup } from "../harness/results.ts";
import { type Lane, type Sampled, sampleLanes } from "../harness/sampling.ts";
import { type Task, sampleInterleaved } from "../harness/sampling.ts";
import { exactTarget, exponentTarget } from "../harness/targets.ts";
import type { Measurement, Target } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import type { ScalingJob, ScalingOutcome } from "./scaling/job.ts";
import type { ThreadsJob } from "./scaling/threads.ts";

const MIB = 2 ** 20;
const JOB = join(import.meta.dirname, "scaling/job.ts");
const THREADS = join(import.meta.dirname, "scaling/threads.ts");
/** 1 is linear; the rest is the tolerance for caches, threads and a busy machine. */
const TIME_MOST = 1.1;
const MEMORY_MOST = 0.5;
/** Resident memory of the process at any length. */
const PEAK_MOST = 256 * MIB;
/** The memory of two chunks: below it, the allocator decides and not the length. */
const MEMORY_FLOOR = 8 * MIB;
const WAYS = ["put", "get"] as const;

export async function scaling(context: SuiteContext): Promise<Findings> {
  const { quick, seed, signal, log } = context;
  const sizes = context.sizes ?? (quick ? [1, 4, 16] : [1, 4, 16, 64, 256]).map((n) => n * MIB);
  const rounds = context.iterations ?? (quick ? 1 : 3);
  const byLength = await measureLengths(context, sizes, rounds);
  const byRecipients = await measureRecipients(
    context,
    quick ? [1, 8, 64] : [1, 4, 16, 64, 256, 1024],
    context.iterations ?? (quick ? 3 : 10),
  );
  const threads: ThreadsJob = {
    size: (quick ? 32 : 256) * MIB,
    rounds: context.iterations ?? (quick ? 1 : 5),
    seed,
  };
  log(`${sizeName(threads.size)} with 0 to 8 threads`);
  const byThreads = await runJob<Sampled>(THREADS, threads, { signal });
  const parts = [byLength, byRecipients, byThreads];
  return {
    measurements: parts.flatMap(({ measurements }) => measurements),
    // One core has no second thread to run.
    targets: parts.flatMap((part) => (part === byThreads && cpus().length < 2 ? [] : part.targets)),
    notes: [
      "An exponent of 1 is linear; if a constant part dominates, it is near 0. Those of time are of CPU time, which other load does not change.",
      "By length: streams, each in its own process after a warm-up; puts go to a backend that discards them, gets read from a folder that was just written. The exponent of memory is that of the increase over the process before the operation, where less than 8 MiB, two chunks, counts as 8 MiB; the peak is the resident memory of the whole process.",
      "By recipients: 64 KiB in memory; the last recipient gets it.",
      ...WAYS.map((way) => speedups(way, lookup(byThreads.measurements), threads.size)),
    ],
  };
}

function speedups(way: string, of: Lookup, size: number): string {
  const seconds = (count: number) => of(`${way}, threads: ${count}`).distribution.p50;
  const each = [1, 2, 4, 8].map(
    (count) => `${(seconds(0) / seconds(count)).toFixed(2)} with ${count}`,
  );
  return `${way} of ${sizeName(size)} in memory, on ${cpus().length} cores, times the speed without threads: ${each.join(", ")}.`;
}

async function measureLengths(
  { quick, signal, seed, log }: SuiteContext,
  sizes: readonly number[],
  rounds: number,
): Promise<Sampled> {
  const wrong = sizes.find((size) => size % MIB !== 0 || size === 0);
  if (wrong !== undefined) throw new RangeError("the sizes of this suite must be whole MiB");
  const identity = formatIdentity(await generateIdentity());
  const folder = await temporaryFolder();
  const run = (way: ScalingJob["way"], size: number, address?: string) => {
    const job = { way, mib: size / MIB, folder, identity, warmUps: quick ? 1 : 4, address };
    return runJob<ScalingOutcome>(JOB, job satisfies ScalingJob, { signal });
  };
  const increases = new Map<string, number>();
  try {
    const lanes: Lane[] = [];
    for (const size of sizes) {
      log(`${sizeName(size)}, ${rounds} rounds`);
      const { result: address } = await run("keep", size);
      const labels = WAYS.map((way) => ({
        name: `${way} ${sizeName(size)}`,
        series: way,
        x: { value: size, unit: "bytes" as const },
        bytesPerOperation: size,
      }));
      const sample = async (): Promise<ScalingOutcome[]> => {
        const both = [await run("put", size), await run("get", size, address)];
        for (const [i, { name }] of labels.entries()) {
          increases.set(name, Math.max(increases.get(name) ?? MEMORY_FLOOR, both[i]!.increase));
        }
        return both;
      };
      lanes.push({ labels, sample });
    }
    return await sampleLanes(lanes, { rounds, warmups: 0, signal, seed }, (of) =>
      WAYS.flatMap((way) => {
        const own = sizes.map((size) => of(`${way} ${sizeName(size)}`));
        const increase = ({ name }: Measurement) => increases.get(name) ?? MEMORY_FLOOR;
        const peak = Math.max(...own.map(({ peakRss = 0 }) => peakRss));
        return [
          growth(`${way}: CPU time by length`, own, cpuOf, TIME_MOST),
          growth(`${way}: memory by length`, own, increase, MEMORY_MOST),
          exactTarget(`${way}: highest peak of resident memory`, peak, "bytes", {
            most: PEAK_MOST,
          }),
        ];
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureRecipients(
  { signal, seed, log }: SuiteContext,
  counts: readonly number[],
  rounds: number,
): Promise<Sampled> {
  log(`up to ${Math.max(...counts)} recipients`);
  const identities = await Promise.all(
    Array.from({ length: Math.max(...counts) }, () => generateIdentity()),
  );
  const content = noise(65_536, seededRandom(seed));
  const hash = sha256(content);
  const name = (way: string, count: number) => `${way}, recipients: ${count}`;
  const tasks = await Promise.all(
    counts.map(async (count): Promise<Task[]> => {
      const store = createStore({
        backend: memory(),
        recipients: identities.slice(0, count).map(({ recipient }) => recipient),
        identities: [identities[count - 1]!],
      });
      let address = await store.put(content);
      const get = async () => (await store.get(address)).bytes();
      const labels = (way: (typeof WAYS)[number]) => ({
        name: name(way, count),
        series: `${way}, by recipients`,
        x: { value: count, unit: "recipients" as const },
        bytesPerOperation: content.length,
      });
      return [
        {
          ...labels("put"),
          prepare: () => store.delete(address),
          run: async () => {
            address = await store.put(content);
          },
          check: async () => expectBytes(await get(), hash),
        },
        { ...labels("get"), run: get, check: (bytes) => expectBytes(bytes as Uint8Array, hash) },
      ];
    }),
  );
  return sampleInterleaved(tasks.flat(), { rounds, warmups: 2, signal, seed }, (of) =>
    WAYS.map((way) => {
      const own = counts.map((count) => of(name(way, count)));
      return growth(`${way}: CPU time by recipients`, own, cpuOf, TIME_MOST);
    }),
  );
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
