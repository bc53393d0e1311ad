/**
 * Many objects of 4 KiB: `putMany` and `getMany` over a folder with each durability, and over the object
 * store beside bare requests with as many in flight. Each sample has its own process and folder.
 */
import { join } from "node:path";
import { type Identity, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { withFolder } from "../../harness/files.ts";
import { storeOf } from "../../harness/identity.ts";
import { measurePeak } from "../../harness/memory.ts";
import { answerJob, run, runJob } from "../../harness/processes.ts";
import type { Findings, Sample } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import type { Task } from "../../harness/sampling.ts";
import { ratioTarget, sampledTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { openBackend, withScratch } from "../../object-store/scratch.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import { type Passes, WAYS, passesOf, passesOfMany, randomContents, tasksOf } from "./passes.ts";

const SIZE = 4096;
const IN_FLIGHT = 16;
const WARM_UP = 200;

const DESTINATIONS = ["folder, full", "folder, none", "object store", "bare requests"] as const;

/** CPU seconds for an object in a folder without durability: how long it takes depends on the disk. */
const CPU_MOST = { put: 0.0005, get: 0.0004 } as const;
/** The least share of the rate of bare requests. */
const SHARE = { put: { least: 0.7 }, get: { least: 0.45, goal: 0.7 } } as const;

interface Job {
  readonly destination: (typeof DESTINATIONS)[number];
  readonly count: number;
  readonly access: ObjectStoreAccess;
  readonly identity: string;
  /** For the blobs. */
  readonly folder: string;
}

export async function manySmall(context: SuiteContext): Promise<Findings> {
  const { quick, signal, options, log } = context;
  const count = Number(options?.["count"] ?? (quick ? 200 : 500));
  const rounds = context.iterations ?? (quick ? 1 : 5);
  const how = { unit: "seconds", kind: "cpu" } as const;
  const sampled = await withScratch(context.store, "many-small", async (scratch) => {
    const identity = formatIdentity(await generateIdentity());
    const lanes = DESTINATIONS.map((destination): Lane => {
      const series = WAYS.map((way) => `${way}, ${destination}`);
      const access = scratch.at(destination);
      return {
        labels: series.map((name) => ({ name, series: name, bytesPerOperation: count * SIZE })),
        sample: () =>
          withFolder(async (folder) => {
            log(destination);
            await run({ argv: ["sync"] });
            const job: Job = { destination, count, access, identity, folder };
            return runJob<Sample[]>(import.meta.path, job, { signal });
          }),
      };
    });
    return sampleLanes(lanes, { rounds, warmups: 0, signal }, (of) =>
      WAYS.flatMap((way) => {
        const each = of(`${way}, folder, none`).cpuSamples!.map((seconds) => seconds / count);
        const cpu = `${way}, folder, none: CPU time of one`;
        const share = `${way}, object store: rate to that of bare requests`;
        const ratio = { of: of(`${way}, bare requests`), to: of(`${way}, object store`) };
        return [
          sampledTarget(cpu, each, { most: CPU_MOST[way] }, how),
          ratioTarget(share, ratio, SHARE[way]),
        ];
      }),
    );
  });
  return {
    ...sampled,
    notes: [
      `${count} objects of ${SIZE} bytes, ${IN_FLIGHT} in flight, after ${WARM_UP} others; a sample is the time of all. Gets read from the page cache.`,
    ],
  };
}

async function work(job: Job): Promise<Sample[]> {
  const passes = passesTo(job, parseIdentity(job.identity));
  const tasks = (count: number): Task[] => {
    const { put, get } = tasksOf(passes, randomContents(SIZE, count), {
      who: job.destination,
      inFlight: IN_FLIGHT,
    });
    return [put, get];
  };
  for (const task of tasks(WARM_UP)) await task.run();
  const samples: Sample[] = [];
  for (const { run: operation, check } of tasks(job.count)) {
    Bun.gc(true);
    const { result, ...sample } = await measurePeak(async () => operation());
    await check?.(result);
    samples.push(sample);
  }
  return samples;
}

function passesTo({ destination, access, folder }: Job, identity: Identity): Passes {
  if (destination === "bare requests") return passesOf(bareS3(access), SIZE);
  const durability = destination === "folder, full" ? "full" : "none";
  const backend =
    destination === "object store"
      ? openBackend(access)
      : filesystem(join(folder, "blobs"), { durability });
  return passesOfMany(storeOf(identity, { backend }));
}

await answerJob(work);
