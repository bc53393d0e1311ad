/**
 * Checks whether memory grows with use: many rounds of put, get and delete, each kind of use in its own
 * process. Resident memory is sampled after a forced garbage collection; the slope of a line through the
 * samples is the growth per round.
 *
 * Usage: bun packages/bench/src/leak-check.ts [ROUNDS]       exits with 1 if memory grows
 */
import { type Address, type Store, createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { type Sample, mebibytes } from "./harness/measure.ts";
import { runJob, measureWork, receivedJob } from "./harness/processes.ts";
import { leakVerdict } from "./statistics/memory-verdicts.ts";

const KIB = 1024;
const MIB = 2 ** 20;
const SAMPLES = 100;
/** The store uses threads from 32 MiB on; for streams of unknown length, once that much was read. */
const THREADED = 40 * MIB + 12_345;

interface Use {
  /** Lengths of the contents of a round, in bytes. */
  readonly lengths: readonly number[];
  /** The number of rounds is divided by this, for expensive uses. */
  readonly every: number;
  readonly compression?: "zstd";
  readonly many?: boolean;
}

const USES: Readonly<Record<string, Use>> = {
  // From content inside the root to a tree of several chunks, the last one not full.
  "one by one": { lengths: [0, 4 * KIB, 100 * KIB, MIB, MIB + 1, 5 * MIB + 12_345], every: 1 },
  compressed: { lengths: [4 * KIB, 100 * KIB, 5 * MIB + 12_345], every: 1, compression: "zstd" },
  "many small": { lengths: Array.from({ length: 40 }, (_, i) => i * 512), every: 1, many: true },
  "with threads": { lengths: [THREADED], every: 10 },
};

interface Job {
  readonly use: string;
  readonly rounds: number;
}

interface Samples {
  /** Rounds done, and resident memory in bytes, at each sample. */
  readonly xs: readonly number[];
  readonly ys: readonly number[];
}

/** The measured work of a child process. */
async function work({ use: name, rounds }: Job): Promise<Sample & { result: Samples }> {
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
  const every = Math.max(1, Math.floor(rounds / SAMPLES));
  const [xs, ys]: [number[], number[]] = [[], []];
  // `return await`, because returning disposes of the store and its threads.
  return await measureWork(async () => {
    for (let round = 0; round < rounds; round++) {
      if (use.many) await many(store, contents);
      else for (const each of contents) await oneByOne(store, each, round % 2 === 0);
      if (round % every !== every - 1) continue;
      Bun.gc(true);
      xs.push(round + 1);
      ys.push(process.memoryUsage.rss());
    }
    return { xs, ys };
  });
}

/** Half random, half zero, alternating every 4 KiB, so that compression halves it. */
function halfNoise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 8 * KIB) crypto.getRandomValues(bytes.subarray(i, i + 4 * KIB));
  return bytes;
}

async function oneByOne(store: Store, bytes: Uint8Array<ArrayBuffer>, whole: boolean) {
  const address = await store.put(whole ? bytes : new Blob([bytes]).stream());
  const blob = await store.get(address);
  let read = 0;
  if (whole) read = (await blob.bytes({ maxBytes: bytes.length })).length;
  else for await (const piece of blob.stream()) read += piece.length;
  if (read !== bytes.length) throw new Error(`read ${read} bytes of ${bytes.length}`);
  await store.deleteTree(address);
}

async function many(store: Store, contents: readonly Uint8Array[]): Promise<void> {
  const addresses: Address[] = [];
  const items = contents.map((content, key) => ({ key, content }));
  for await (const result of store.putMany(items)) {
    if (!result.ok) throw result.error;
    addresses.push(result.address);
  }
  let read = 0;
  for await (const result of store.getMany(addresses)) {
    if (!result.ok) throw result.error;
    read += (await result.blob.bytes()).length;
  }
  const expected = contents.reduce((sum, { length }) => sum + length, 0);
  if (read !== expected) throw new Error(`read ${read} bytes of ${expected}`);
  for (const address of addresses) await store.deleteTree(address);
}

async function check(requested: number): Promise<void> {
  const mib = (bytes: number) => (bytes / MIB).toFixed(1);
  for (const [use, { lengths, every }] of Object.entries(USES)) {
    // Five samples leave three after the warm-up, the minimum for a line with an error.
    const rounds = Math.max(5, Math.ceil(requested / every));
    const job: Job = { use, rounds };
    const sample = await runJob<Sample & { result: Samples }>(import.meta.path, job);
    const { xs, ys } = sample.result;
    const verdict = leakVerdict(xs, ys);
    const total = rounds * lengths.reduce((sum, length) => sum + length, 0);
    const cpu = sample.cpuSeconds / (total / 2 ** 30);
    console.log(`${use}: ${verdict.grows ? "GROWS" : "no growth"}`);
    console.log(`  ${rounds} rounds of ${lengths.length} contents, ${mib(total)} MiB each way`);
    console.log(`  resident MiB, first to last sample: ${mib(ys[0]!)} to ${mib(ys.at(-1)!)}`);
    console.log(
      `  ${verdict.perRound.toFixed(0)} bytes per round ± ${verdict.error.toFixed(0)}, over the last ${verdict.samples} samples`,
    );
    console.log(`  ${cpu.toFixed(2)} CPU s/GiB of content, ${mebibytes(sample.peakRss)} MiB peak`);
    if (verdict.grows) process.exitCode = 1;
  }
}

const job = receivedJob() as Job | undefined;
if (job) {
  console.log(JSON.stringify(await work(job)));
} else {
  await check(Number(process.argv[2] ?? "1000"));
}
