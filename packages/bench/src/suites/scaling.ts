/**
 * How the time and memory of put and get grow with content length and the number of recipients: the
 * exponent e of time ~ length^e. Each length runs in its own processes, so that memory left by one does
 * not count for another.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { noise, sizeName } from "../harness/content.ts";
import { temporaryFolder } from "../harness/files.ts";
import { interleave } from "../harness/interleave.ts";
import { runJob } from "../harness/processes.ts";
import { type Findings, measurementOf } from "../harness/results.ts";
import { sampleInterleaved } from "../harness/sampling.ts";
import { targetOf } from "../harness/targets.ts";
import type { Measurement, Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import { fitPowerLaw } from "../statistics/regression.ts";
import type { SuiteContext } from "../suite.ts";
import type { ScalingJob, ScalingOutcome } from "./scaling/job.ts";

const MIB = 2 ** 20;
const JOB = join(import.meta.dir, "scaling/job.ts");
/** 1 is linear; the rest is the tolerance for caches, threads and a busy machine. */
const EXPONENT_MOST = 1.1;
/** Less memory than this is noise of the allocator. */
const MEMORY_FLOOR = MIB;
const WAYS = ["put", "get"] as const;

export async function scaling(context: SuiteContext): Promise<Findings> {
  const { quick } = context;
  const sizes =
    context.sizes ?? (quick ? [1, 4, 16] : [1, 4, 16, 64, 256, 1024]).map((n) => n * MIB);
  const recipients = quick ? [1, 8, 64] : [1, 4, 16, 64, 256, 1024];
  const rounds = context.iterations ?? (quick ? 1 : 3);
  const byLength = await measureLengths(context, sizes, rounds);
  const byRecipients = await measureRecipients(context, recipients, quick ? 3 : 15);
  return {
    measurements: [...byLength, ...byRecipients],
    targets: [
      ...WAYS.flatMap((way) => {
        const own = byLength.filter(({ series }) => series === way);
        return [
          exponentTarget(`${way}: time by length`, own, secondsOf),
          exponentTarget(`${way}: memory by length`, own, memoryOf),
        ];
      }),
      ...WAYS.flatMap((way) => {
        const own = byRecipients.filter(({ series }) => series.startsWith(way));
        return [exponentTarget(`${way}: time by recipients`, own, secondsOf)];
      }),
    ],
    notes: [
      `The target is an exponent of at most ${EXPONENT_MOST}: 1 is linear, the rest is tolerance for noise. If a constant part dominates, as with memory, the exponent is near 0.`,
      "By length: streams, each in its own process after a warm-up; puts go to a backend that discards them, gets read from a folder that was just written. Memory is the increase over the process before the operation; less than 1 MiB counts as 1 MiB.",
      "By recipients: 64 KiB in memory; the last recipient gets it.",
    ],
  };
}

async function measureLengths(
  { signal, seed, log }: SuiteContext,
  sizes: readonly number[],
  rounds: number,
): Promise<Measurement[]> {
  const identity = formatIdentity(await generateIdentity());
  const wrong = sizes.find((size) => size % MIB !== 0 || size === 0);
  if (wrong !== undefined) throw new RangeError("the sizes of this suite must be whole MiB");
  const folder = await temporaryFolder();
  const run = (way: ScalingJob["way"], size: number, address?: string) => {
    const job: ScalingJob = { way, mib: size / MIB, folder, identity, address };
    return runJob<ScalingOutcome>(JOB, job);
  };
  const taken = sizes.map((size) => ({
    size,
    put: [] as ScalingOutcome[],
    get: [] as ScalingOutcome[],
  }));
  try {
    const kept = new Map<number, string>();
    for (const size of sizes) {
      signal.throwIfAborted();
      kept.set(size, (await run("keep", size)).address);
    }
    await interleave(taken, { rounds, warmups: 0, signal }, async ({ size, put, get }, round) => {
      log(`${sizeName(size)}, round ${round + 1} of ${rounds}`);
      put.push(await run("put", size));
      get.push(await run("get", size, kept.get(size)));
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const random = seededRandom(seed);
  return WAYS.flatMap((way) =>
    taken.map(({ size, ...samples }) => {
      const name = `${way} ${sizeName(size)}`;
      const x = { value: size, unit: "bytes" as const };
      return measurementOf({ name, series: way, x, bytesPerOperation: size }, samples[way], random);
    }),
  );
}

async function measureRecipients(
  { signal, seed, log }: SuiteContext,
  counts: readonly number[],
  rounds: number,
): Promise<Measurement[]> {
  log(`up to ${Math.max(...counts)} recipients`);
  const identities = await Promise.all(
    Array.from({ length: Math.max(...counts) }, () => generateIdentity()),
  );
  const content = noise(65_536, seededRandom(seed));
  const tasks = await Promise.all(
    counts.map(async (count) => {
      const store = createStore({
        backend: memory(),
        recipients: identities.slice(0, count).map(({ recipient }) => recipient),
        identities: [identities[count - 1]!],
      });
      let address = await store.put(content);
      const labels = (way: (typeof WAYS)[number]) => ({
        name: `${way}, recipients: ${count}`,
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
        },
        {
          ...labels("get"),
          run: async () => {
            const { length } = await (await store.get(address)).bytes();
            if (length !== content.length) throw new Error(`read ${length} bytes`);
          },
        },
      ];
    }),
  );
  return sampleInterleaved(tasks.flat(), { rounds, warmups: 2, signal, seed });
}

function exponentTarget(
  name: string,
  measurements: readonly Measurement[],
  valueOf: (measurement: Measurement) => number,
): Target {
  const xs = measurements.map(({ x }) => x!.value);
  const { exponent, error } = fitPowerLaw(xs, measurements.map(valueOf));
  const target = targetOf(`${name}: exponent`, exponent, "exponent", { most: EXPONENT_MOST });
  // Two standard errors. With three sizes there is only one degree of freedom: too few for an interval.
  if (xs.length < 5) return target;
  const interval = { low: exponent - 2 * error, high: exponent + 2 * error, confidence: 0.95 };
  return { ...target, interval };
}

function secondsOf({ distribution }: Measurement): number {
  return distribution.p50;
}

function memoryOf({ peakRss = 0 }: Measurement): number {
  return Math.max(peakRss, MEMORY_FLOOR);
}
