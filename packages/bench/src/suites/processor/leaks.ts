/**
 * Whether memory grows with use: many rounds of put, get and delete, each kind of use in its own process.
 * Resident memory is sampled after a forced garbage collection; the slope of a line through the samples is
 * the growth per round.
 */
import { generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { storeOf } from "../../harness/identity.ts";
import { measurePeak } from "../../harness/memory.ts";
import { answerJob, runJob } from "../../harness/processes.ts";
import { type Findings, type Sample, measurementOf } from "../../harness/results.ts";
import type { Measurement, MemoryPoint, Target } from "../../report/report.ts";
import { leakTarget } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";
import {
  byHash,
  contentOf,
  once,
  oneByOne,
  passesOfMany,
  readAll,
} from "../object-store/passes.ts";

const KIB = 1024;
const MIB = 2 ** 20;
/** Samples of memory in a run. */
const SAMPLES = 100;
/** Runs of a use, at most. */
const RUNS = 3;
interface Use {
  /** Lengths of the contents of a round, in bytes. */
  readonly lengths: readonly number[];
  /** Tolerated growth per round in bytes. */
  readonly most: number;
  /** The number of rounds is divided by this, for expensive uses. */
  readonly every?: number;
  readonly compression?: "zstd";
  readonly many?: boolean;
}

/** Less than a leak of one small blob in each round, or of 250 bytes for each chunk. */
const [SMALL, CHUNKS] = [2 * KIB, 40 * KIB];
const TREE = 5 * MIB + 12_345;
const USES: Readonly<Record<string, Use>> = {
  // From content inside the root to a tree of several chunks, the last one not full.
  "one by one": { lengths: [0, 4 * KIB, 100 * KIB, MIB, MIB + 1, TREE], most: SMALL },
  compressed: { lengths: [4 * KIB, 100 * KIB, TREE], most: SMALL, compression: "zstd" },
  "many small": { lengths: Array.from({ length: 40 }, (_, i) => i * 512), most: SMALL, many: true },
  // The store uses threads from 32 MiB on; for streams of unknown length, once that much was read.
  "with threads": { lengths: [40 * MIB + 12_345], most: CHUNKS, every: 10 },
};

interface Job {
  readonly use: string;
  readonly rounds: number;
}

/** With the memory after each step. */
type Traced = Sample & { readonly memory: readonly MemoryPoint[] };

/** Rounds between two points of memory. */
function stepOf(rounds: number): number {
  return Math.max(1, Math.floor(rounds / SAMPLES));
}

export async function leaks(context: SuiteContext): Promise<Findings> {
  const { quick, signal, log } = context;
  const requested = context.iterations ?? (quick ? 20 : 1000);
  const measurements: Measurement[] = [];
  const targets: Target[] = [];
  for (const [use, { lengths, every = 1, most }] of Object.entries(USES)) {
    // Ten samples leave seven after the warm-up.
    const rounds = Math.max(10, Math.ceil(requested / every));
    const samples: Traced[] = [];
    const judged: Target[] = [];
    let target: Target | undefined;
    do {
      log(`${use}, ${rounds} rounds`);
      const job: Job = { use, rounds };
      const sample = await runJob<Traced>(import.meta.path, job, { signal });
      samples.push(sample);
      const points = sample.memory.map(({ rss }, i) => [(i + 1) * stepOf(rounds), rss] as const);
      judged.push(leakTarget(`${use}: growth in each round`, points, most));
      target = decisive(judged);
    } while (target === undefined && samples.length < (quick ? 1 : RUNS));
    targets.push(target ?? { ...judged.at(-1)!, verdict: "inconclusive" });
    const bytesPerOperation = rounds * lengths.reduce((sum, length) => sum + length, 0);
    const labels = { name: `${rounds} rounds, ${use}`, series: use, bytesPerOperation };
    measurements.push(measurementOf(labels, samples));
  }
  return {
    measurements,
    targets,
    notes: [
      `Growth is the slope of a line through resident memory after forced collections, without the first 30 % of the samples, with two standard errors. A run that is inconclusive, or misses, is followed by another, up to ${RUNS} in all: two misses are a miss, and it takes more runs that keep the bound than misses to keep it.`,
    ],
  };
}

/**
 * The run that decides, if there is one yet. An allocator that has not settled does not miss twice, so two
 * misses count, whatever follows; and after one miss, one run that keeps the bound is not enough.
 */
export function decisive(runs: readonly Target[]): Target | undefined {
  const met = runs.filter(({ verdict }) => verdict === "met");
  const missed = runs.filter(({ verdict }) => verdict === "missed");
  if (missed.length >= 2) return missed.at(-1);
  return met.length > missed.length ? met.at(-1) : undefined;
}

async function work({ use, rounds }: Job): Promise<Traced> {
  const { lengths, compression, many } = USES[use]!;
  const maxBytes = Math.max(...lengths);
  const content = halfNoise(maxBytes);
  await using store = storeOf(await generateIdentity(), {
    // Do not keep memory of deleted blobs, so that the remaining memory is the store's.
    backend: memory({ idleBytes: 0 }),
    chunkSize: 256 * KIB,
    compression,
    workers: 2,
  });
  const contents = lengths.map((length) => contentOf(content.subarray(0, length)));
  const streams = oneByOne(
    ({ bytes }) => store.put(new Blob([bytes]).stream()),
    async (address) => (await store.get(address)).stream(),
  );
  const wholes = oneByOne(
    ({ bytes }) => store.put(bytes),
    async (address) => once(await (await store.get(address)).bytes({ maxBytes })),
  );
  const [ways, inFlight] = many ? [[passesOfMany(store)], 16] : [[streams, wholes], 1];
  const points: MemoryPoint[] = [];
  const start = performance.now();
  const { result: _, ...sample } = await measurePeak(async () => {
    for (let round = 1; round <= rounds; round++) {
      const way = ways[round % ways.length]!;
      const addresses = await way.put(contents, inFlight);
      await readAll(way, addresses, contents, inFlight, byHash);
      for (const address of addresses) await store.deleteTree(address);
      if (round % stepOf(rounds) !== 0) continue;
      Bun.gc(true);
      const { rss, heapUsed: heap } = process.memoryUsage();
      points.push({ at: (performance.now() - start) / 1000, rss, heap });
    }
  });
  return { ...sample, memory: points };
}

/** Half random, half zero, alternating every 4 KiB, so that compression halves it. */
function halfNoise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 8 * KIB) crypto.getRandomValues(bytes.subarray(i, i + 4 * KIB));
  return bytes;
}

await answerJob(work);
