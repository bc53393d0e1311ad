/**
 * Many objects of 4 KiB: `putMany` and `getMany` over a folder with each durability, and over the object
 * store beside bare requests with as many in flight. Each has its own process.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { temporaryFolder } from "../harness/files.ts";
import { interleave } from "../harness/interleave.ts";
import { measurePeak } from "../harness/memory.ts";
import { receivedJob, run, runJob } from "../harness/processes.ts";
import { type Findings, type Sample, lookup, measurementOf } from "../harness/results.ts";
import { type Sampled, untilSettled } from "../harness/sampling.ts";
import { ratioTarget, sampledTarget } from "../harness/targets.ts";
import { bareS3 } from "../object-store/bare-s3.ts";
import { childEnv, childStore } from "../object-store/in-child.ts";
import { openBackend, withScratch } from "../object-store/scratch.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { type Passes, passesOf, passesOfMany, randomContents, tasksOf } from "./passes.ts";

const SIZE = 4096;
const IN_FLIGHT = 16;
const WARM_UP = 200;
const WAYS = ["put", "get"] as const;

const DESTINATIONS = ["folder, full", "folder, none", "object store", "bare requests"] as const;
type Destination = (typeof DESTINATIONS)[number];

/** CPU seconds for an object in a folder without durability. */
const CPU_MOST = { put: 0.0005, get: 0.0004 } as const;
/** Objects a second in a folder that are wanted; how many there are depends on the disk. */
const WANTED = { put: 5000, get: 8000 } as const;
/** The least share of the rate of bare requests. */
const SHARE = { put: { least: 0.7 }, get: { least: 0.45, goal: 0.7 } } as const;

interface Job {
  readonly destination: Destination;
  readonly count: number;
  /** For the blobs, new in each round. */
  readonly folder: string;
}

type Outcome = Readonly<Record<(typeof WAYS)[number], Sample>>;

export async function manySmall(context: SuiteContext): Promise<Findings> {
  const { quick, seed, signal, options, log } = context;
  const count = Number(options?.["count"] ?? (quick ? 200 : 500));
  const rounds = context.iterations ?? (quick ? 1 : 5);
  const taken = DESTINATIONS.map((destination) => ({ destination, outcomes: [] as Outcome[] }));
  const sampled = await withScratch(context.store, "many-small", async (scratch) => {
    const identity = formatIdentity(await generateIdentity());
    return untilSettled(
      { rounds, warmups: 0 },
      (more) =>
        interleave(
          taken,
          { rounds: more, warmups: 0, signal },
          async ({ destination, outcomes }) => {
            log(destination);
            const env = childEnv({ access: scratch.at(destination), identity });
            const folder = await temporaryFolder();
            try {
              await run({ argv: ["sync"] });
              const job: Job = { destination, count, folder };
              outcomes.push(await runJob<Outcome>(import.meta.path, job, { env, signal }));
            } finally {
              await rm(folder, { recursive: true });
            }
          },
        ),
      () => evaluate(taken, count, seed),
    );
  });
  const of = lookup(sampled.measurements);
  const [puts, gets] = WAYS.map((way) =>
    Math.round(count / of(`${way}, folder, none`).distribution.p50).toLocaleString("en-US"),
  );
  return {
    ...sampled,
    notes: [
      `${count} objects of ${SIZE} bytes, ${IN_FLIGHT} in flight, after ${WARM_UP} others; a sample is the time of all. Gets read from the page cache.`,
      `Wanted, without a target: in a folder without durability, ${WANTED.put} puts and ${WANTED.get} gets a second (this run: ${puts} and ${gets}).`,
    ],
  };
}

function shareOf(way: (typeof WAYS)[number]): string {
  return `${way}, object store: rate to that of bare requests`;
}

function evaluate(
  taken: readonly { readonly destination: Destination; readonly outcomes: readonly Outcome[] }[],
  count: number,
  seed: number,
): Sampled {
  const random = seededRandom(seed);
  const measurements = WAYS.flatMap((way) =>
    taken.map(({ destination, outcomes }) => {
      const series = `${way}, ${destination}`;
      const samples = outcomes.map((outcome) => outcome[way]);
      return measurementOf(
        { name: series, series, bytesPerOperation: count * SIZE },
        samples,
        random,
      );
    }),
  );
  const of = lookup(measurements);
  const how = { unit: "seconds", kind: "cpu", random } as const;
  const targets = WAYS.flatMap((way) => {
    const each = of(`${way}, folder, none`).cpuSamples!.map((seconds) => seconds / count);
    const ratio = { of: of(`${way}, bare requests`), to: of(`${way}, object store`) };
    return [
      sampledTarget(`${way}, folder, none: CPU time of one`, each, { most: CPU_MOST[way] }, how),
      ratioTarget(shareOf(way), ratio, SHARE[way], random),
    ];
  });
  return { measurements, targets };
}

async function work({ destination, count, folder }: Job): Promise<Outcome> {
  const passes = passesTo(destination, folder);
  const how = { who: destination, inFlight: IN_FLIGHT };
  for (const task of tasksOf(passes, randomContents(SIZE, WARM_UP), how)) await task.run();
  const [put, get] = tasksOf(passes, randomContents(SIZE, count), how);
  const measure = async ({ run: operation, check }: typeof put): Promise<Sample> => {
    Bun.gc(true);
    const { result, ...sample } = await measurePeak(async () => operation());
    await check?.(result);
    return sample;
  };
  return { put: await measure(put), get: await measure(get) };
}

function passesTo(destination: Destination, folder: string): Passes {
  const { access, identity: text } = childStore();
  if (destination === "bare requests") return passesOf(bareS3(access), SIZE);
  const identity = parseIdentity(text);
  const durability = destination === "folder, full" ? "full" : "none";
  const backend =
    destination === "object store"
      ? openBackend(access)
      : filesystem(join(folder, "blobs"), { durability });
  return passesOfMany(
    createStore({ backend, recipients: [identity.recipient], identities: [identity] }),
  );
}

const job = receivedJob() as Job | undefined;
if (job) {
  console.log(JSON.stringify(await work(job)));
  // Open connections would keep the process alive.
  process.exit(0);
}
