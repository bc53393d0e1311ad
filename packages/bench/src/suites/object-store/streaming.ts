/**
 * The speed and memory of streams of several lengths, up and down, beside bare requests for the same
 * chunks. Each stream of a store has its own process, because the memory of a process does not shrink again.
 */
import { join } from "node:path";
import { type Backend, formatIdentity, generateIdentity } from "@idk/storage";
import { coefficientOfVariation } from "simple-statistics";
import { parseSizes } from "../../command/flags.ts";
import { CHUNK, sizeName } from "../../harness/content.ts";
import { storeOf } from "../../harness/identity.ts";
import { watchLoad } from "../../harness/machine.ts";
import { runJob } from "../../harness/processes.ts";
import { type Findings, labelsFor, together } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import {
  type Bound,
  exactTarget,
  exponentTarget,
  peakBound,
  ratioTarget,
  unlessBusy,
} from "../../harness/targets.ts";
import { type Scratch, openBackend, withScratch } from "../../object-store/scratch.ts";
import type { Target } from "../../report/report.ts";
import { formatRate, formatTime } from "../../report/units.ts";
import { median } from "../../statistics/describe.ts";
import type { SuiteContext } from "../../suite.ts";
import { inFlightTarget } from "./in-flight.ts";
import { IN_FLIGHT, passesOfStreams } from "./passes.ts";
import type { StreamJob, Streamed, Way } from "./stream-job.ts";

const JOB = join(import.meta.dirname, "stream-job.ts");
const WAYS: readonly Way[] = ["up", "down"];
/** Operations of a store of its own, whose chunks in flight are counted. */
const STREAMS = [
  ["put of a stream", "put"],
  ["get as a stream", "get"],
] as const;

/** The least share of the rate of bare requests. */
const SHARE: Readonly<Record<Way, Bound>> = {
  up: { least: 0.35, goal: 0.7 },
  down: { least: 0.25, goal: 0.45 },
};

/** Shorter streams end before all threads and buffers of the store are in use. */
const ALL_IN_USE = 100e6;
/** The growth of peaks from the first of these sizes to the last. */
const GROWTH_MOST = 1.5;
/** Of the memory beyond that at the start, by size. */
const EXPONENT_MOST = 0.5;

type Setting = Pick<StreamJob, "chunk" | "concurrency">;

interface Plan {
  readonly setting: Setting;
  readonly size: number;
  readonly rounds: number;
  /** Beside bare requests. */
  readonly compared: boolean;
}

/** The library's own, and 5 MB x 3, as nearly as a store can be set. */
const SETTINGS: readonly Setting[] = [
  { chunk: CHUNK, concurrency: IN_FLIGHT },
  { chunk: chunkNear(5e6), concurrency: 3 },
];
/** Of the first setting; the others have the one from which on everything is in use. */
const SIZES = [10e6, 50e6, ALL_IN_USE, 500e6];
/** Rounds of sizes that are there for their memory: bare requests beside them would take too long. */
const FOR_MEMORY: ReadonlyMap<number, number> = new Map([
  [50e6, 2],
  [500e6, 2],
]);

/** What was measured of a plan. */
interface Streams extends Plan {
  readonly samples: Readonly<Record<Way, readonly Streamed[]>>;
  readonly findings: Findings;
}

export async function streamingThroughput(context: SuiteContext): Promise<Findings> {
  const plans = plansFor(context);
  const inFlight: Target[] = [];
  const found = await withScratch(context.store, "streaming-throughput", async (scratch) => {
    const own = await generateIdentity();
    const open = (backend: Backend) => storeOf(own, { backend, padding: "none" });
    for (const [what, way] of STREAMS) {
      const backend = openBackend(scratch.at("store"));
      inFlight.push(await inFlightTarget(what, way, backend, open, passesOfStreams));
    }
    const identity = formatIdentity(own);
    return Array.fromAsync(plans, (plan) => measure(plan, identity, scratch, context));
  });
  const settings = [...new Set(found.map(titleOf))].map(
    (title) => [title, found.filter((streams) => titleOf(streams) === title)] as const,
  );
  const { measurements, targets } = together(found.map(({ findings }) => findings));
  return {
    measurements,
    targets: [
      ...inFlight,
      ...targets,
      ...settings.flatMap(([title, streams]) =>
        WAYS.flatMap((way) => memoryTargets(`${way}, ${title}`, way, streams)),
      ),
    ],
    notes: [
      ...settings.map(([title, streams]) => `${title}: ${describe(streams)}`),
      "Each stream of a store has its own process, and a pair of bare ones another. Its time begins after a stream of two chunks, up and down; its peak of memory is that of the process.",
      "A stream up comes from memory. What a stream down returns is read once more after the clock has stopped, and compared by SHA-256.",
      "Streams of 50 MB and 500 MB are measured for their memory, without bare requests beside them. The largest peak of all rounds counts, and the exponent is fitted to as many rounds of each size.",
      "A store's chunk is a power of two from 256 KiB to 16 MiB: --partSize is rounded to the nearest, 5 MB to 4 MiB.",
    ],
  };
}

function chunkNear(bytes: number): number {
  return 2 ** Math.min(24, Math.max(18, Math.round(Math.log2(bytes))));
}

/** What is measured with the settings of a run. */
export function plansFor({
  quick,
  sizes,
  iterations,
  options = {},
}: Pick<SuiteContext, "quick" | "sizes" | "iterations" | "options">): Plan[] {
  return settingsFrom(options).flatMap((setting, i) => {
    const own = quick ? SIZES.slice(0, 2) : i === 0 ? SIZES : [ALL_IN_USE];
    return (sizes ?? own).map((size): Plan => {
      const few = FOR_MEMORY.get(size);
      const compared = few === undefined || quick || iterations !== undefined;
      return { setting, size, compared, rounds: iterations ?? (quick ? 1 : (few ?? 5)) };
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

function titleOf({ setting: { chunk, concurrency } }: Plan): string {
  return `${sizeName(chunk)} x ${concurrency}`;
}

async function measure(
  plan: Plan,
  identity: string,
  scratch: Scratch,
  { seed, signal, log }: SuiteContext,
): Promise<Streams> {
  const { setting, size, rounds, compared } = plan;
  const name = `${sizeName(size)}, ${titleOf(plan)}`;
  const samples: Record<Way, Streamed[]> = { up: [], down: [] };
  const load = watchLoad();
  const run = (bare: boolean, given: Pick<StreamJob, "ways" | "names">): Promise<Streamed[]> => {
    const access = scratch.at(bare ? "bare" : "store");
    const job: StreamJob = { ...setting, ...given, bare, size, seed, identity, access };
    return runJob(JOB, job, { signal });
  };
  const laneOf = (prefix: string, streams: () => Promise<Streamed[]>): Lane => ({
    labels: WAYS.map((way) => {
      const series = `${prefix}${way}, ${titleOf(plan)}`;
      return { ...labelsFor(size)(series), name: `${prefix}${way} ${name}` };
    }),
    async sample() {
      const taken = await streams();
      // Each time, because the objects of all rounds may be more than a disk holds.
      await scratch.clear();
      const [up, down] = taken.map(({ seconds }) => formatRate(size / seconds));
      log(`${prefix}${name}: up at ${up}, down at ${down}`);
      return taken;
    },
  });
  const store = laneOf("", async () => {
    await load.look();
    const [up] = (await run(false, { ways: ["up"] })) as [Streamed];
    const [down] = (await run(false, { ways: ["down"], names: up.names })) as [Streamed];
    samples.up.push(up);
    samples.down.push(down);
    return [up, down];
  });
  const bare = laneOf("bare ", () => run(true, { ways: WAYS }));
  const lanes = compared ? [store, bare] : [store];
  const findings = await sampleLanes(lanes, { rounds, warmups: 0, signal }, (of) => {
    if (!compared) return [];
    return WAYS.map((way) => {
      const title = `${way} ${name}: rate to that of bare requests`;
      const ratio = { of: of(`bare ${way} ${name}`), to: of(`${way} ${name}`) };
      return unlessBusy(ratioTarget(title, ratio, SHARE[way]), load.isBusy());
    });
  });
  return { ...plan, samples, findings };
}

export function memoryTargets(
  title: string,
  way: Way,
  streams: readonly Pick<Streams, "size" | "samples">[],
  threads?: number,
): Target[] {
  const peaksOf = ({ samples }: Pick<Streams, "samples">) =>
    samples[way].map(({ peakRss }) => peakRss);
  const long = streams.filter(({ size }) => size >= ALL_IN_USE);
  const targets = long.map((each) => {
    const name = `peak memory ${title}: ${sizeName(each.size)}`;
    return exactTarget(name, Math.max(...peaksOf(each)), "bytes", peakBound(threads));
  });
  const [first, last] = [long[0], long.at(-1)];
  if (first && last && first !== last) {
    const name = `peak memory ${title}: ${sizeName(last.size)} to ${sizeName(first.size)}`;
    const growth = median(peaksOf(last)) / median(peaksOf(first));
    targets.push(exactTarget(name, growth, "ratio", { most: GROWTH_MOST }));
  }
  if (streams.length >= 3) {
    // As many of each size: the shortest have the most rounds, and would outweigh the longest.
    const rounds = Math.min(...streams.map(({ samples }) => samples[way].length));
    const points = streams.flatMap(({ size, samples }) =>
      samples[way].slice(0, rounds).map(({ peakRss, rss }) => [size, peakRss - rss] as const),
    );
    targets.push(exponentTarget(`memory by size, ${title}: exponent`, points, EXPONENT_MOST));
  }
  return targets;
}

/** All sizes together, and how much their times vary. */
function describe(streams: readonly Streams[]): string {
  const bytes = streams.reduce((sum, { size }) => sum + size, 0);
  const totals = WAYS.map((way) => {
    const times = streams.map(({ samples }) => samples[way].map(({ seconds }) => seconds));
    const total = times.reduce((sum, each) => sum + median(each), 0);
    const varying = times
      .filter(({ length }) => length > 1)
      .map((each) => `${(100 * coefficientOfVariation(each)).toFixed(0)} %`);
    const variation =
      varying.length > 0 ? ` (coefficients of variation ${varying.join(", ")})` : "";
    const text = `${way} in ${formatTime(total)}, ${formatRate(bytes / total)}${variation}`;
    return { total, text };
  });
  const [up, down] = totals as [(typeof totals)[number], (typeof totals)[number]];
  const sizes = streams.map(({ size }) => sizeName(size)).join(", ");
  return `${sizes} together ${up.text}; ${down.text}; up takes ${(up.total / down.total).toFixed(2)} times as long as down`;
}
