/**
 * Whether memory grows with use: many rounds of put, get and delete, each kind of use in its own process.
 * Resident memory is sampled after a forced garbage collection; the slope of a line through the samples is
 * the growth per round.
 */
import { type Store, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { expectBytes, hashOf, sha256 } from "../../harness/content.ts";
import { putAll, storeOf } from "../../harness/identity.ts";
import { type Measured, measurePeak } from "../../harness/memory.ts";
import { answerJob, runJob } from "../../harness/processes.ts";
import { type Findings, measurementOf } from "../../harness/results.ts";
import type { Measurement, MemoryPoint, Target } from "../../report/report.ts";
import { leakTarget } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";

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

/** A sample of memory, and the rounds done by then. */
type Point = MemoryPoint & { readonly rounds: number };

export async function leaks(context: SuiteContext): Promise<Findings> {
  const { quick, signal, log } = context;
  const requested = context.iterations ?? (quick ? 20 : 1000);
  const measurements: Measurement[] = [];
  const targets: Target[] = [];
  for (const [use, { lengths, every = 1, most }] of Object.entries(USES)) {
    // Ten samples leave seven after the warm-up.
    const rounds = Math.max(10, Math.ceil(requested / every));
    const samples: Measured<Point[]>[] = [];
    const judged: Target[] = [];
    let target: Target | undefined;
    do {
      log(`${use}, ${rounds} rounds`);
      const job: Job = { use, rounds };
      samples.push(await runJob<Measured<Point[]>>(import.meta.path, job, { signal }));
      const points = samples.at(-1)!.result.map(({ rounds, rss }) => [rounds, rss] as const);
      judged.push(leakTarget(`${use}: growth in each round`, points, most));
      target = decisive(judged);
    } while (target === undefined && samples.length < (quick ? 1 : RUNS));
    targets.push(target ?? { ...judged.at(-1)!, verdict: "inconclusive" });
    const bytesPerOperation = rounds * lengths.reduce((sum, length) => sum + length, 0);
    const labels = { name: `${rounds} rounds, ${use}`, series: use, bytesPerOperation };
    const trace = samples.at(-1)!.result.map(({ at, rss, heap }) => ({ at, rss, heap }));
    measurements.push(measurementOf(labels, samples, undefined, trace));
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

/** The measured work of a child process. */
async function work({ use, rounds }: Job): Promise<Measured<Point[]>> {
  const { lengths, compression, many } = USES[use]!;
  const content = halfNoise(Math.max(...lengths));
  await using store = storeOf(await generateIdentity(), {
    // Do not keep memory of deleted blobs, so that the remaining memory is the store's.
    backend: memory({ idleBytes: 0 }),
    chunkSize: 256 * KIB,
    compression,
    workers: 2,
  });
  const contents = lengths.map((length) => content.subarray(0, length));
  const hashes = contents.map(sha256);
  const every = Math.max(1, Math.floor(rounds / SAMPLES));
  const points: Point[] = [];
  const start = performance.now();
  // `return await`, because returning disposes of the store and its threads.
  return await measurePeak(async () => {
    for (let round = 1; round <= rounds; round++) {
      if (many) await manyAtOnce(store, contents, hashes);
      else await oneByOne(store, contents, hashes, round % 2 === 0);
      if (round % every !== 0) continue;
      Bun.gc(true);
      const { rss, heapUsed: heap } = process.memoryUsage();
      points.push({ at: (performance.now() - start) / 1000, rounds: round, rss, heap });
    }
    return points;
  });
}

/** Half random, half zero, alternating every 4 KiB, so that compression halves it. */
function halfNoise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 8 * KIB) crypto.getRandomValues(bytes.subarray(i, i + 4 * KIB));
  return bytes;
}

type Contents = readonly Uint8Array<ArrayBuffer>[];

/** @param streamed as streams, in both directions */
async function oneByOne(
  store: Store,
  contents: Contents,
  hashes: readonly string[],
  streamed: boolean,
): Promise<void> {
  for (const [i, bytes] of contents.entries()) {
    const address = await store.put(streamed ? new Blob([bytes]).stream() : bytes);
    const blob = await store.get(address);
    if (!streamed) expectBytes(await blob.bytes({ maxBytes: bytes.length }), hashes[i]!);
    else if ((await hashOf(blob.stream())) !== hashes[i]) throw new Error("wrong bytes came back");
    await store.deleteTree(address);
  }
}

async function manyAtOnce(
  store: Store,
  contents: Contents,
  hashes: readonly string[],
): Promise<void> {
  const addresses = await putAll(store, contents);
  for await (const result of store.getMany(addresses)) {
    if (!result.ok) throw result.error;
    expectBytes(await result.blob.bytes(), hashes[addresses.indexOf(result.key)]!);
  }
  for (const address of addresses) await store.deleteTree(address);
}

await answerJob(work);
