/**
 * Whether memory grows with use: many rounds of put, get and delete, each kind of use in its own process.
 * Resident memory is sampled after a forced garbage collection; the slope of a line through the samples is
 * the growth per round.
 */
import { type Address, type Store, createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { type Measured, measurePeak } from "../harness/memory.ts";
import { receivedJob, runJob } from "../harness/processes.ts";
import { type Findings, measurementOf } from "../harness/results.ts";
import { leakTarget } from "../harness/targets.ts";
import type { Measurement, MemoryPoint, Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { expectBytes, hashOf, sha256 } from "../harness/content.ts";

const KIB = 1024;
const MIB = 2 ** 20;
/** Samples of memory in a run. */
const SAMPLES = 100;
/** The store uses threads from 32 MiB on; for streams of unknown length, once that much was read. */
const THREADED = 40 * MIB + 12_345;

interface Use {
  /** Lengths of the contents of a round, in bytes. */
  readonly lengths: readonly number[];
  /** The number of rounds is divided by this, for expensive uses. */
  readonly every: number;
  /** Tolerated growth per round in bytes. */
  readonly most: number;
  readonly compression?: "zstd";
  readonly many?: boolean;
}

/** Less than a leak of one small blob in each round, or of 250 bytes for each chunk. */
const [SMALL, CHUNKS] = [2 * KIB, 40 * KIB];
const USES: Readonly<Record<string, Use>> = {
  // From content inside the root to a tree of several chunks, the last one not full.
  "one by one": {
    lengths: [0, 4 * KIB, 100 * KIB, MIB, MIB + 1, 5 * MIB + 12_345],
    every: 1,
    most: SMALL,
  },
  compressed: {
    lengths: [4 * KIB, 100 * KIB, 5 * MIB + 12_345],
    every: 1,
    most: SMALL,
    compression: "zstd",
  },
  "many small": {
    lengths: Array.from({ length: 40 }, (_, i) => i * 512),
    every: 1,
    most: SMALL,
    many: true,
  },
  "with threads": { lengths: [THREADED], every: 10, most: CHUNKS },
};

interface Job {
  readonly use: string;
  readonly rounds: number;
}

/** A sample of memory, and the rounds done by then. */
type Point = MemoryPoint & { readonly rounds: number };

/** A leak shows every time, and an allocator that has not settled does not: runs of a use, at most. */
const RUNS = 3;

export async function leaks(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed, log } = context;
  const requested = context.iterations ?? (quick ? 20 : 1000);
  const measurements: Measurement[] = [];
  const targets: Target[] = [];
  for (const [use, { lengths, every, most }] of Object.entries(USES)) {
    // Ten samples leave seven after the warm-up.
    const rounds = Math.max(10, Math.ceil(requested / every));
    const job: Job = { use, rounds };
    const samples: Measured<Point[]>[] = [];
    let target: Target;
    do {
      log(`${use}, ${rounds} rounds`);
      const sample = await runJob<Measured<Point[]>>(import.meta.path, job, { signal });
      samples.push(sample);
      const points = sample.result.map(({ rounds, rss }) => [rounds, rss] as const);
      target = leakTarget(`${use}: growth in each round`, points, most);
    } while (target.verdict !== "met" && samples.length < (quick ? 1 : RUNS));
    targets.push(target);
    const labels = {
      name: `${rounds} rounds, ${use}`,
      series: use,
      bytesPerOperation: rounds * lengths.reduce((sum, length) => sum + length, 0),
    };
    const trace = samples.at(-1)!.result.map(({ at, rss, heap }) => ({ at, rss, heap }));
    measurements.push(measurementOf(labels, samples, seededRandom(seed), trace));
  }
  return {
    measurements,
    targets,
    notes: [
      `Growth is the slope of a line through resident memory after forced collections, without the first 30 % of the samples, with two standard errors. A use that is not clear runs up to ${RUNS} times, and the last run counts.`,
    ],
  };
}

/** The measured work of a child process. */
async function work({ use: name, rounds }: Job): Promise<Measured<Point[]>> {
  const use = USES[name]!;
  const content = halfNoise(Math.max(...use.lengths));
  const alice = await generateIdentity();
  await using store = createStore({
    // Do not keep memory of deleted blobs, so that the remaining memory is the store's.
    backend: memory({ idleBytes: 0 }),
    recipients: [alice.recipient],
    identities: [alice],
    chunkSize: 256 * KIB,
    compression: use.compression,
    workers: 2,
  });
  const contents = use.lengths.map((length) => content.subarray(0, length));
  const hashes = contents.map((each) => sha256(each));
  const every = Math.max(1, Math.floor(rounds / SAMPLES));
  const points: Point[] = [];
  const start = performance.now();
  // `return await`, because returning disposes of the store and its threads.
  return await measurePeak(async () => {
    for (let round = 0; round < rounds; round++) {
      if (use.many) await many(store, contents, hashes);
      else {
        for (const [i, each] of contents.entries()) {
          await oneByOne(store, each, hashes[i]!, round % 2 === 0);
        }
      }
      if (round % every !== every - 1) continue;
      Bun.gc(true);
      const { rss, heapUsed: heap } = process.memoryUsage();
      points.push({ at: (performance.now() - start) / 1000, rounds: round + 1, rss, heap });
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

async function oneByOne(
  store: Store,
  bytes: Uint8Array<ArrayBuffer>,
  hash: string,
  whole: boolean,
): Promise<void> {
  const address = await store.put(whole ? bytes : new Blob([bytes]).stream());
  const blob = await store.get(address);
  if (whole) expectBytes(await blob.bytes({ maxBytes: bytes.length }), hash);
  else if ((await hashOf(blob.stream())) !== hash) throw new Error("wrong bytes came back");
  await store.deleteTree(address);
}

async function many(
  store: Store,
  contents: readonly Uint8Array[],
  hashes: readonly string[],
): Promise<void> {
  const addresses: Address[] = [];
  for await (const result of store.putMany(contents.map((content, key) => ({ key, content })))) {
    if (!result.ok) throw result.error;
    addresses[result.key] = result.address;
  }
  for await (const result of store.getMany(addresses)) {
    if (!result.ok) throw result.error;
    expectBytes(await result.blob.bytes(), hashes[addresses.indexOf(result.key as Address)]!);
  }
  for (const address of addresses) await store.deleteTree(address);
}

const job = receivedJob() as Job | undefined;
if (job) console.log(JSON.stringify(await work(job)));
