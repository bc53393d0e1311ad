/**
 * The speed and memory of streams of several lengths, up and down, beside bare requests for the same
 * chunks. Each stream has its own process, because the memory of a process does not shrink again.
 */
import { join } from "node:path";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { coefficientOfVariation } from "simple-statistics";
import { parseSizes } from "../command/flags.ts";
import { sizeName } from "../harness/content.ts";
import { interleave } from "../harness/interleave.ts";
import { runJob } from "../harness/processes.ts";
import { type Findings, lookup, measurementOf } from "../harness/results.ts";
import { untilSettled } from "../harness/sampling.ts";

import {
  type Bound,
  SAMPLES_LEAST,
  exactTarget,
  exponentTarget,
  ratioTarget,
} from "../harness/targets.ts";
import { childEnv } from "../object-store/in-child.ts";
import { type Scratch, withScratch } from "../object-store/scratch.ts";
import type { Measurement, Target } from "../report/report.ts";
import { formatRate, formatTime } from "../report/units.ts";
import { median } from "../statistics/describe.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { ObjectStoreAccess, SuiteContext } from "../suite.ts";
import { CHUNK, IN_FLIGHT } from "./round-trip.ts";
import type { StreamJob, Streamed } from "./streaming/job.ts";

const JOB = join(import.meta.dirname, "streaming/job.ts");
const [MB, MIB] = [1e6, 2 ** 20];

const WAYS = ["up", "down"] as const;
type Way = (typeof WAYS)[number];

/** The least share of the rate of bare requests. */
const SHARE: Readonly<Record<Way, Bound>> = {
  up: { least: 0.35, goal: 0.7 },
  down: { least: 0.25, goal: 0.45 },
};

/** Shorter streams end before all threads and buffers of the store are in use. */
const ALL_IN_USE = 100 * MB;
/** Bytes at each size from `ALL_IN_USE`, and the growth from the first of them to the last. */
const PEAK_MOST = 256 * MIB;
const GROWTH_MOST = 1.5;
/** Of the memory beyond that at the start, by size. */
const EXPONENT_MOST = 0.5;

/** How streams are transferred. */
type Setting = Pick<StreamJob, "chunk" | "concurrency">;

interface Plan extends Setting {
  readonly size: number;
  readonly rounds: number;
}

/** The library's own, and 5 MB x 3, as nearly as a store can be set. */
const SETTINGS: readonly Setting[] = [
  { chunk: CHUNK, concurrency: IN_FLIGHT },
  { chunk: chunkNear(5 * MB), concurrency: 3 },
];
/** Of the first setting; the others have the one from which on everything is in use. */
const SIZES = [10 * MB, 50 * MB, ALL_IN_USE, 500 * MB];

interface Kind extends Record<Way, Streamed[]> {
  readonly bare: boolean;
  readonly prefix: string;
  readonly access: ObjectStoreAccess;
}

/** What was measured of a plan. */
interface Streams extends Plan {
  readonly samples: Readonly<Record<Way, readonly Streamed[]>>;
  readonly measurements: readonly Measurement[];
  readonly targets: readonly Target[];
}

export async function streamingThroughput(context: SuiteContext): Promise<Findings> {
  const random = seededRandom(context.seed);
  const found: Streams[] = [];
  await withScratch(context.store, "streaming-throughput", async (scratch) => {
    const identity = formatIdentity(await generateIdentity());
    for (const plan of plansFor(context)) {
      found.push(await measure(plan, identity, scratch, random, context));
      await scratch.clear();
    }
  });
  const settings = [...new Set(found.map(titleOf))].map(
    (title) => [title, found.filter((streams) => titleOf(streams) === title)] as const,
  );
  const trips = found.flatMap(({ samples }) => samples.down).length;
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: [
      // A difference ends the suite.
      exactTarget("round trips with equal SHA-256", trips, "count", { least: trips }),
      ...found.flatMap(({ targets }) => targets),
      ...settings.flatMap(([title, streams]) =>
        WAYS.flatMap((way) => memoryTargets(`${way}, ${title}`, way, streams)),
      ),
    ],
    notes: [
      ...settings.map(([title, streams]) => `${title}: ${describe(streams)}`),
      "Each stream has its own process, and so have the bare requests beside it. Its time begins after a stream of two chunks, up and down; its peak of memory is that of the process.",
      "A stream up comes from memory. What a stream down returns is read once more after the clock has stopped, and compared by SHA-256.",
      "A store's chunk is a power of two from 256 KiB to 16 MiB: --partSize is rounded to the nearest, 5 MB to 4 MiB.",
    ],
  };
}

function chunkNear(bytes: number): number {
  return 2 ** Math.min(24, Math.max(18, Math.round(Math.log2(bytes))));
}

function plansFor({ quick, sizes, iterations, options = {} }: SuiteContext): Plan[] {
  return settingsFrom(options).flatMap(({ chunk, concurrency }, i) => {
    const own = quick ? SIZES.slice(0, 2) : i === 0 ? SIZES : [ALL_IN_USE];
    return (sizes ?? own).map((size): Plan => {
      // The longest are there for their memory: two rounds are too few for a ratio.
      const rounds = iterations ?? (quick ? 1 : size > ALL_IN_USE || i > 0 ? 2 : 5);
      return { chunk, concurrency, size, rounds };
    });
  });
}

function settingsFrom({ partSize, concurrency }: NonNullable<SuiteContext["options"]>): Setting[] {
  if (partSize === undefined && concurrency === undefined) return [...SETTINGS];
  const chunks = parseSizes(String(partSize ?? CHUNK), "--partSize").map(chunkNear);
  const lanes = String(concurrency ?? IN_FLIGHT)
    .split(",")
    .map(Number);
  if (lanes.some((count) => !Number.isInteger(count) || count < 1 || count > 64)) {
    throw new RangeError("--concurrency takes whole numbers from 1 to 64, such as 3,4");
  }
  return [...new Set(chunks)].flatMap((chunk) =>
    lanes.map((count): Setting => ({ chunk, concurrency: count })),
  );
}

function titleOf({ chunk, concurrency }: Setting): string {
  return `${sizeName(chunk)} x ${concurrency}`;
}

async function measure(
  plan: Plan,
  identity: string,
  scratch: Scratch,
  random: Random,
  { seed, signal, log }: SuiteContext,
): Promise<Streams> {
  const { size, rounds, ...setting } = plan;
  const name = `${sizeName(size)}, ${titleOf(plan)}`;
  const kinds: Kind[] = [
    { bare: false, prefix: "", access: scratch.at("store"), up: [], down: [] },
    { bare: true, prefix: "bare ", access: scratch.at("bare"), up: [], down: [] },
  ];
  return untilSettled(
    { rounds, warmups: 0 },
    (count) =>
      interleave(
        kinds,
        { rounds: count, warmups: 0, signal },
        async ({ bare, access, up, down }) => {
          const env = childEnv({ access, identity });
          const run = (names?: readonly string[]) => {
            const job: StreamJob = { ...setting, bare, size, seed, names };
            return runJob<Streamed>(JOB, job, { env, signal });
          };
          const sent = await run();
          const received = await run(sent.names);
          up.push(sent);
          down.push(received);
          const [above, below] = [sent, received].map(({ seconds }) => formatRate(size / seconds));
          log(`${name}${bare ? ", bare" : ""}: up at ${above}, down at ${below}`);
        },
      ),
    () => {
      const measurements = WAYS.flatMap((way) =>
        kinds.map(({ prefix, [way]: samples }) => {
          const series = `${prefix}${way}, ${titleOf(plan)}`;
          const x = { value: size, unit: "bytes" } as const;
          const labels = { name: `${prefix}${way} ${name}`, series, x, bytesPerOperation: size };
          return measurementOf(labels, samples, random, samples.at(-1)!.memory);
        }),
      );
      const of = lookup(measurements);
      const share = (way: Way): Target =>
        ratioTarget(
          `${way} ${name}: rate to that of bare requests`,
          { of: of(`bare ${way} ${name}`), to: of(`${way} ${name}`) },
          SHARE[way],
          random,
        );
      const targets = kinds[0]!.up.length < SAMPLES_LEAST ? [] : WAYS.map(share);
      return { ...plan, samples: kinds[0]!, measurements, targets };
    },
  );
}

function memoryTargets(title: string, way: Way, streams: readonly Streams[]): Target[] {
  const peakOf = ({ samples }: Streams) => median(samples[way].map(({ peakRss }) => peakRss));
  const beyond = ({ samples }: Streams) =>
    median(samples[way].map(({ peakRss, rss }) => peakRss - rss));
  const long = streams.filter(({ size }) => size >= ALL_IN_USE);
  const [first, last] = [long[0], long.at(-1)];
  const exponent = `memory by size, ${title}: exponent`;
  const growth = (from: Streams, to: Streams): Target => {
    const name = `peak memory ${title}: ${sizeName(to.size)} to ${sizeName(from.size)}`;
    return exactTarget(name, peakOf(to) / peakOf(from), "ratio", { most: GROWTH_MOST });
  };
  return [
    ...long.map((each) => {
      const name = `peak memory ${title}: ${sizeName(each.size)}`;
      return exactTarget(name, peakOf(each), "bytes", { most: PEAK_MOST });
    }),
    ...(first && last && first !== last ? [growth(first, last)] : []),
    ...(streams.length < 3
      ? []
      : [
          exponentTarget(
            exponent,
            streams.map((each) => [each.size, beyond(each)]),
            EXPONENT_MOST,
          ),
        ]),
  ];
}

/** All sizes together, and how much their times vary. */
function describe(streams: readonly Streams[]): string {
  const bytes = streams.reduce((sum, { size }) => sum + size, 0);
  const [up, down] = WAYS.map((way) => {
    const times = streams.map(({ samples }) => samples[way].map(({ seconds }) => seconds));
    const total = times.reduce((sum, each) => sum + median(each), 0);
    const varying = times
      .filter(({ length }) => length > 1)
      .map((each) => `${(100 * coefficientOfVariation(each)).toFixed(0)} %`);
    const variation =
      varying.length > 0 ? ` (coefficients of variation ${varying.join(", ")})` : "";
    return {
      total,
      text: `${way} in ${formatTime(total)}, ${formatRate(bytes / total)}${variation}`,
    };
  }) as [{ total: number; text: string }, { total: number; text: string }];
  const sizes = streams.map(({ size }) => sizeName(size)).join(", ");
  return `${sizes} together ${up.text}; ${down.text}; up takes ${(up.total / down.total).toFixed(2)} times as long as down`;
}
