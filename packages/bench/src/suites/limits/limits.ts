/**
 * The limits of put, get, verify and restore by the command, on one core and on two: the parts that each of
 * them has to do, measured alone in the same round, the bound that follows from them, and what the command
 * takes beyond it.
 */
import { mkdtemp } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { CHUNK, sizeName } from "../../harness/content.ts";
import { withFolder } from "../../harness/files.ts";
import { watchLoad } from "../../harness/machine.ts";
import { type Ran, jobProgram, run, runAside } from "../../harness/processes.ts";
import {
  type Findings,
  type Labels,
  type Lookup,
  type Sample,
  lookup,
} from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import { ratioTarget, unlessBusy } from "../../harness/targets.ts";
import { type Scratch, clearAll, withScratch } from "../../object-store/scratch.ts";
import { counted, formatTime } from "../../report/units.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import { type Difference, type Part, boundOf, differenceOf } from "./bound.ts";
import { allowedCores, pinned } from "./cores.ts";
import { FILE_SIZE, OPERATIONS, type Operation, type Start, operationsOver } from "./operations.ts";
import { PARTS, type PartName, type PartsJob } from "./parts.ts";

const MIB = 2 ** 20;
const ALL = Object.keys(OPERATIONS) as Operation[];

/** Less than the bound is only noise: otherwise the bound is wrong. */
const TO_BOUND = { least: 0.9 } as const;

const BEYOND: Readonly<Record<keyof Difference, string>> = {
  fixed: "start-up and first requests",
  processor: "more work of the processor",
  waiting: "waiting",
};

export async function limits(context: SuiteContext): Promise<Findings> {
  const { store, quick, sizes, iterations, signal } = context;
  const [size = (quick ? 8 : 256) * MIB] = sizes ?? [];
  if (size === 0 || size % CHUNK !== 0) {
    throw new RangeError("the size of this suite must be a multiple of 4 MiB");
  }
  const counts = [1, 2].filter((count) => count <= allowedCores().length);
  const load = watchLoad();
  return withScratch(store, "limits", (scratch) =>
    withFolder(async (folder) => {
      const operations = await operationsOver(store!, size, folder, scratch, context);
      const limiting = new Map<string, string[]>();
      const lanes = counts.map((own): Lane => {
        const cores = { own, shared: sharedWith(store!) };
        const start: Start = ({ argv, env }) => runAside({ argv: pinned(argv, own), env, signal });
        return {
          labels: ALL.flatMap((operation) => labelsOf(operation, own, size)),
          async sample() {
            context.log(counted(own, "core"));
            await load.look();
            const of = { size, source: operations.source, folder };
            const parts = await partsOn(own, of, scratch, signal);
            const whole = await operations.run("large", start);
            const fixed = await operations.run("tiny", start);
            return ALL.flatMap((operation) => {
              const needed = OPERATIONS[operation].map((name) =>
                Object.assign(parts[name], { kind: PARTS[name] }),
              );
              const bound = boundOf(needed, cores);
              const name = nameOf(operation, own);
              limiting.set(name, [...(limiting.get(name) ?? []), bound.by]);
              return samplesOf(needed, bound.seconds, whole[operation], fixed[operation], own);
            });
          },
        };
      });
      const sampling = { rounds: iterations ?? (quick ? 1 : 5), warmups: quick ? 0 : 1, signal };
      const found = await sampleLanes(lanes, sampling, (of) =>
        forEach(counts, (operation, own) => {
          const name = nameOf(operation, own);
          const sides = { of: of(`${name}: idk`), to: of(`${name}: bound`) };
          const target = ratioTarget(`${name}: time to its bound`, sides, TO_BOUND);
          return unlessBusy(target, load.isBusy());
        }),
      );
      const of = lookup(found.measurements);
      const sentences = forEach(counts, (operation, own) => {
        const name = nameOf(operation, own);
        return describe(name, of, mostFrequent(limiting.get(name)!));
      });
      return { ...found, notes: [...sentences, ...notesOf(size)] };
    }),
  );
}

/** In the order of the labels. */
function samplesOf(
  parts: readonly Part[],
  bound: number,
  whole: Ran,
  fixed: Ran,
  own: number,
): Sample[] {
  const cpu = parts.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const beyond = differenceOf(whole, bound, fixed, cpu, own);
  return [
    ...parts.map(({ seconds, cpuSeconds }) => ({ seconds, cpuSeconds })),
    { seconds: bound },
    whole,
    ...keysOf(BEYOND).map((part) => ({ seconds: beyond[part] })),
  ];
}

function forEach<T>(
  counts: readonly number[],
  work: (operation: Operation, own: number) => T,
): T[] {
  return ALL.flatMap((operation) => counts.map((own) => work(operation, own)));
}

function nameOf(operation: Operation, own: number): string {
  return `${operation}, ${counted(own, "core")}`;
}

function keysOf<Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(record) as Key[];
}

function labelsOf(operation: Operation, own: number, size: number): Labels[] {
  const table = nameOf(operation, own);
  const label = (series: string) => ({ name: `${table}: ${series}`, table, series });
  const moved = [...OPERATIONS[operation], "bound", "idk"];
  return [
    ...moved.map((series) => Object.assign(label(series), { bytesPerOperation: size })),
    ...Object.values(BEYOND).map((part) => label(`beyond it, ${part}`)),
  ];
}

/** The cores that a store on this machine shares with the command. */
function sharedWith({ endpoint }: ObjectStoreAccess): number | undefined {
  const here = ["127.0.0.1", "localhost", "[::1]"].includes(new URL(endpoint).hostname);
  return here ? cpus().length : undefined;
}

async function partsOn(
  own: number,
  { folder, ...given }: Pick<PartsJob, "size" | "source" | "folder">,
  scratch: Scratch,
  signal: AbortSignal,
): Promise<Record<PartName, Part>> {
  const access = scratch.at("bare");
  const parts = await mkdtemp(join(folder, "parts-"));
  const job: PartsJob = { ...given, folder: parts, fileSize: FILE_SIZE, access };
  const { argv, env } = jobProgram(join(import.meta.dirname, "parts.ts"), job);
  const { stdout } = await run({ argv: pinned(argv, own), env, signal });
  await clearAll(access);
  return JSON.parse(stdout) as Record<PartName, Part>;
}

function mostFrequent(texts: readonly string[]): string {
  const times = (text: string) => texts.filter((each) => each === text).length;
  return texts.reduce((most, text) => (times(text) > times(most) ? text : most));
}

/** "get, 2 cores: 1.20 s, of which the bound is 0.40 s (the store). Beyond it: waiting 0.50 s, …" */
function describe(name: string, of: Lookup, by: string): string {
  const seconds = (series: string) => of(`${name}: ${series}`).distribution.p50;
  const beyond = Object.values(BEYOND).map(
    (part) => `${part} ${formatTime(seconds(`beyond it, ${part}`))}`,
  );
  return `${name}: ${formatTime(seconds("idk"))}; the bound is ${formatTime(seconds("bound"))}, by ${by}. Beyond it: ${beyond.join(", ")}.`;
}

function notesOf(size: number): string[] {
  return [
    `${sizeName(size)}: a file that is put, fetched and verified, and a folder of files of 1 MiB that is restored. The command is a process that taskset binds to the cores, and so is the one that measures the parts; the store may use all.`,
    "All parts may overlap, except those that need the same: so the bound is the longest of the time of bare requests, that of the file system, the processor time of all parts on the cores of the command, and, with a store on this machine, the processor time of everything on all cores of the machine. Requests are measured with 4 and with 16 in flight, and the least of both counts.",
    "Start-up and first requests: the same operation with 1 KiB. More work of the processor: what the command takes beyond that and the parts, spread over its cores. Waiting is the rest: parts that follow each other.",
  ];
}
