/**
 * The speed and memory of streams of several lengths, up and down. Each runs in its own process, because
 * the memory of a process does not shrink again.
 */
import { fileURLToPath } from "node:url";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { sizeName } from "../harness/content.ts";
import { interleave } from "../harness/interleave.ts";
import { runJob } from "../harness/processes.ts";
import { type Findings, measurementOf } from "../harness/results.ts";
import { targetOf } from "../harness/targets.ts";
import { withScratch } from "../object-store/scratch.ts";
import type { Measurement } from "../report/report.ts";
import { formatRate } from "../report/units.ts";
import { median } from "../statistics/describe.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import {
  STREAM_STORE,
  type StreamJob,
  type StreamStore,
  type Streamed,
  hashOf,
  streamContent,
} from "./stream-job.ts";

const MB = 1e6;
const SCRIPT = fileURLToPath(new URL("streaming-process.ts", import.meta.url));
const WAYS = ["up", "down"] as const;

/** The streams of one size, by round. */
interface Trips {
  readonly size: number;
  /** The SHA-256 of the content. */
  readonly hash: string;
  readonly up: Streamed[];
  readonly down: Streamed[];
}

export async function streamingThroughput(context: SuiteContext): Promise<Findings> {
  const { quick, seed, signal, log } = context;
  const sizes = context.sizes ?? (quick ? [10, 50] : [10, 50, 100, 500]).map((size) => size * MB);
  const rounds = context.iterations ?? (quick ? 1 : 3);
  const random = seededRandom(seed);
  const records: Trips[] = [];
  for (const size of sizes.toSorted((a, b) => a - b)) {
    records.push({ size, hash: await hashOf(streamContent(size, seed)), up: [], down: [] });
  }
  let equal = 0;
  await withScratch(context.store, "streaming-throughput", async (scratch) => {
    const identity = formatIdentity(await generateIdentity());
    const where: StreamStore = { access: scratch.at("store"), identity };
    const env = { [STREAM_STORE]: JSON.stringify(where) };
    const run = (job: StreamJob) => runJob<Streamed>(SCRIPT, job, env);
    await interleave(records, { rounds, warmups: 0, signal }, async (record) => {
      const { size, hash } = record;
      const up = await run({ way: "up", size, seed });
      record.up.push(up);
      const down = await run({ way: "down", address: up.result });
      record.down.push(down);
      if (down.result !== hash) throw new Error(`${sizeName(size)}: got other bytes`);
      equal += 1;
      const rates = [up, down].map(({ seconds }) => formatRate(size / seconds));
      log(`${sizeName(size)}: up at ${rates[0]}, down at ${rates[1]}`);
      await scratch.clear();
    });
  });
  return {
    measurements: WAYS.flatMap((way) => [
      ...records.map((record) => measurementFor(way, record, random)),
      totalFor(way, records, random),
    ]),
    targets: [
      targetOf("round trips with equal SHA-256", equal, "count", {
        least: records.length * rounds,
      }),
      ...WAYS.flatMap((way) => peakTarget(way, records)),
    ],
    notes: [
      "each stream has its own process; its peak is measured from opening the store, its time excludes the start of the process",
      "a stream down is hashed as it arrives, which is part of its time; a stream up comes from memory",
    ],
  };
}

function measurementFor(way: "up" | "down", record: Trips, random: Random): Measurement {
  const { size } = record;
  const streams = record[way];
  return measurementOf(
    {
      name: `${way} ${sizeName(size)}`,
      series: way,
      x: { value: size, unit: "bytes" },
      bytesPerOperation: size,
    },
    streams,
    random,
    { memory: streams.at(-1)!.memory, counts: streams.at(-1)!.counts },
  );
}

/** The sum over all sizes, by round. */
function totalFor(way: "up" | "down", records: readonly Trips[], random: Random): Measurement {
  const rounds = records[0]![way].map((_, round) => ({
    seconds: records.reduce((sum, record) => sum + record[way][round]!.seconds, 0),
    cpuSeconds: records.reduce((sum, record) => sum + record[way][round]!.cpuSeconds, 0),
  }));
  const bytesPerOperation = records.reduce((sum, { size }) => sum + size, 0);
  const labels = { name: `${way}, in total`, series: `${way}, in total`, bytesPerOperation };
  return measurementOf(labels, rounds, random);
}

/** Shorter streams end before all threads and buffers of the store are in use. */
const ALL_IN_USE = 100 * MB;

/**
 * Tolerated growth of the peak. Buffering the whole content would triple it; garbage that is not yet
 * collected adds up to a third.
 */
const GROWTH = 1.5;

function peakTarget(way: "up" | "down", records: readonly Trips[]) {
  const peakOf = (record: Trips) => median(record[way].map(({ peakRss }) => peakRss));
  const long = records.filter(({ size }) => size >= ALL_IN_USE);
  const [first, last] = [long[0], long.at(-1)];
  if (!first || !last || first === last) return [];
  const name = `peak memory ${way}: ${sizeName(last.size)} to ${sizeName(first.size)}`;
  return [targetOf(name, peakOf(last) / peakOf(first), "ratio", { most: GROWTH })];
}
