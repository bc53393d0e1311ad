/**
 * Many objects of 4 KiB: `putMany` and `getMany` over a folder with each durability, and over the object
 * store beside bare requests; and files of 4 KiB by the command. Each sample has its own process and folder.
 */
import { join } from "node:path";
import { formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { withFolder } from "../../harness/files.ts";
import { storeOf } from "../../harness/identity.ts";
import { inLanes } from "../../harness/interleave.ts";
import { measurePeak } from "../../harness/memory.ts";
import { answerJob, run, runJob } from "../../harness/processes.ts";
import type { Findings, Sample } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import type { Task } from "../../harness/sampling.ts";
import { ratioTarget, sampledTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { clearAll, openBackend, withScratch } from "../../object-store/scratch.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import {
  type Client,
  type Passes,
  WAYS,
  passesOf,
  passesOfMany,
  randomContents,
  tasksOf,
} from "./passes.ts";
import { MANY, filesLane, filesTargets } from "./small-files.ts";

const SIZE = 4096;
/** Of bare requests near and far, and of a folder. Over an object store, the library decides. */
const IN_FLIGHT = { near: 16, far: 64 } as const;
const WARM_UP = 200;

const BARE = "bare requests";
const DESTINATIONS = ["folder, full", "folder, none", "object store", BARE] as const;

/** CPU seconds for an object in a folder without durability: how long it takes depends on the disk. */
const CPU_MOST = { put: 0.0005, get: 0.0004 } as const;
/** The least share of the rate of bare requests, with a store that is near or far. */
const SHARE = {
  near: { put: { least: 0.7 }, get: { least: 0.45, goal: 0.7 } },
  far: { put: { least: 0.6, goal: 0.85 }, get: { least: 0.6, goal: 0.85 } },
} as const;

interface Job {
  readonly destination: (typeof DESTINATIONS)[number];
  readonly count: number;
  /** Requests at once, or the library's own number. */
  readonly inFlight: number | undefined;
  readonly access: ObjectStoreAccess;
  readonly identity: string;
  /** For the blobs. */
  readonly folder: string;
}

export async function manySmall(context: SuiteContext): Promise<Findings> {
  const { quick, rtt, signal, options, log } = context;
  const count = Number(options?.["count"] ?? (quick ? 200 : 500));
  const rounds = context.iterations ?? (quick ? 1 : 5);
  // A round of many objects takes minutes, so a number that was given is not exceeded.
  const budget = context.iterations === undefined ? undefined : 1;
  const how = { unit: "seconds", kind: "cpu" } as const;
  const distance = (rtt ?? context.rate) === undefined ? "near" : "far";
  const sampled = await withScratch(context.store, "many-small", (scratch) =>
    withFolder(async (files) => {
      const identity = formatIdentity(await generateIdentity());
      const destinations = DESTINATIONS.filter(
        (each) => count < MANY || !each.startsWith("folder"),
      );
      const lanes = destinations.map((destination): Lane => {
        const ways = destination === BARE ? [...WAYS, "head"] : WAYS;
        const series = ways.map((way) => `${way}, ${destination}`);
        const access = scratch.at(destination);
        const inFlight = inFlightOf(destination, distance);
        return {
          labels: series.map((name) => ({ name, series: name, bytesPerOperation: count * SIZE })),
          sample: () =>
            withFolder(async (folder) => {
              log(destination);
              await run({ argv: ["sync"] });
              const job: Job = { destination, count, inFlight, access, identity, folder };
              const samples = await runJob<Sample[]>(import.meta.path, job, { signal });
              await clearAll(access);
              return samples;
            }),
        };
      });
      const all = [...lanes, await filesLane(count, files, scratch, context)];
      return sampleLanes(all, { rounds, budget, warmups: 0, signal }, (of) => [
        ...WAYS.flatMap((way) => {
          const share = `${way}, object store: rate to that of bare requests`;
          const ratio = { of: of(`${way}, ${BARE}`), to: of(`${way}, object store`) };
          const rate = ratioTarget(share, ratio, SHARE[distance][way]);
          if (count >= MANY) return [rate];
          const each = of(`${way}, folder, none`).cpuSamples!.map((seconds) => seconds / count);
          const cpu = `${way}, folder, none: CPU time of one`;
          return [sampledTarget(cpu, each, { most: CPU_MOST[way] }, how), rate];
        }),
        ...filesTargets(count, of, rtt),
      ]);
    }),
  );
  return {
    ...sampled,
    notes: [
      `${count} objects of ${SIZE} bytes after ${WARM_UP} others; a sample is the time of all. ${IN_FLIGHT[distance]} bare requests are in flight, ${IN_FLIGHT.near} objects of a folder, and over the object store as many as the library chooses. From ${MANY} objects on, folders are left out. Gets read from the page cache.`,
      `The command stores as many files, in folders of 100, and includes its start-up. ls --long is compared with bare GETs, because it fetches every root, and verify --server-checksums with bare HEADs.`,
    ],
  };
}

function inFlightOf(
  destination: Job["destination"],
  distance: keyof typeof IN_FLIGHT,
): number | undefined {
  if (destination === "object store") return undefined;
  return destination === BARE ? IN_FLIGHT[distance] : IN_FLIGHT.near;
}

async function work(job: Job): Promise<Sample[]> {
  const names: string[] = [];
  const bare = bareS3(job.access);
  const passes = job.destination === BARE ? passesOf(recording(bare, names), SIZE) : passesTo(job);
  const tasks = (count: number): Task[] => {
    const { put, get } = tasksOf(passes, randomContents(SIZE, count), {
      who: job.destination,
      ...(job.inFlight !== undefined && { inFlight: job.inFlight }),
    });
    return [put, get];
  };
  for (const task of tasks(WARM_UP)) await task.run();
  const samples: Sample[] = [];
  const measure = async ({ run: operation, check }: Pick<Task, "run" | "check">) => {
    Bun.gc(true);
    const { result, ...sample } = await measurePeak(async () => operation());
    await check?.(result);
    samples.push(sample);
  };
  for (const task of tasks(job.count)) await measure(task);
  if (job.destination === BARE) {
    await measure({ run: () => inLanes(names.slice(-job.count), job.inFlight!, bare.head) });
  }
  return samples;
}

/** Notes the names of what is put. */
function recording(client: Client, names: string[]): Client {
  return {
    get: client.get,
    put(name, ...rest) {
      names.push(name);
      return client.put(name, ...rest);
    },
  };
}

function passesTo({ destination, access, folder, inFlight, ...job }: Job): Passes {
  const durability = destination === "folder, full" ? "full" : "none";
  const backend =
    destination === "object store"
      ? openBackend(access)
      : filesystem(join(folder, "blobs"), { durability });
  const { put, get } = passesOfMany(storeOf(parseIdentity(job.identity), { backend }));
  return {
    put: (contents) => put(contents, inFlight),
    get: (addresses, _, read) => get(addresses, inFlight, read),
  };
}

await answerJob(work);
