/**
 * Processes that are measured: other programs, and this package's own jobs in a process of their
 * own. Keep what spawns them small: on Linux a process inherits, as the floor of its peak memory,
 * the peak of the one that spawned it.
 */
import { join } from "node:path";
import { type Sample, mebibytes } from "./measure.ts";
import { peakRss } from "./memory.ts";

export interface Program {
  readonly argv: readonly string[];
  /** Besides this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a program to its end, start-up included. CPU time is that of all its processes, as far as
 * each was waited for by its parent; peak memory that of the largest of them.
 *
 * @throws Error with what the program said, where it fails
 */
export async function run({ argv, env = {} }: Program): Promise<Sample & { stdout: string }> {
  const start = performance.now();
  const child = Bun.spawn([...argv], {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const seconds = (performance.now() - start) / 1000;
  if (code !== 0) throw new Error(`${argv.join(" ")} failed (${code}): ${stderr || stdout}`);
  const usage = child.resourceUsage();
  if (usage === undefined) throw new Error(`nothing is known of what ${argv[0]} used`);
  return {
    seconds,
    cpuSeconds: Number(usage.cpuTime.total) / 1e6,
    peakRss: usage.maxRSS,
    stdout,
  };
}

/** A command line of the shell, where the failure of any part of a pipeline is a failure. */
export function shell(script: string, args: readonly string[] = []): readonly string[] {
  return ["bash", "-euo", "pipefail", "-c", script, "bash", ...args];
}

/**
 * Runs a job in a process of its own: the given script, which hands the job it finds by `receivedJob`
 * to `report`.
 *
 * @param env what must not stand in the list of processes, or in messages: keys
 */
export async function runJob<Outcome>(
  script: string,
  job: unknown,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { stdout } = await run({ argv: [process.execPath, script, JOB, JSON.stringify(job)], env });
  return JSON.parse(stdout) as Outcome;
}

/** A peak that is not above this one says nothing of a program: it is that of this process. */
export function describePeakFloor(): string {
  return `a peak up to ${mebibytes(peakRss())} MiB is that of the measuring process`;
}

const JOB = "--job";

/** The job that this process was started for by `runJob`, if it was. */
export function receivedJob(): unknown {
  const [flag, job] = process.argv.slice(2);
  return flag === JOB && job !== undefined ? JSON.parse(job) : undefined;
}

/** Measures work within this process; its peak memory is the process's so far. */
export async function measureWork<T>(work: () => Promise<T>): Promise<Sample & { result: T }> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { result, seconds, cpuSeconds: (user + system) / 1e6, peakRss: peakRss() };
}

/** Tasks within this process, for `interleavedSamples`; none pays for the garbage of another. */
export function measuredTasks<Name extends string>(
  tasks: Record<Name, () => unknown>,
): Record<Name, () => Promise<Sample>> {
  const names = Object.keys(tasks) as Name[];
  const measured = names.map((name) => {
    const task = async (): Promise<Sample> => {
      globalThis.Bun?.gc(true);
      return measureWork(async () => {
        await tasks[name]();
      });
    };
    return [name, task] as const;
  });
  return Object.fromEntries(measured) as Record<Name, () => Promise<Sample>>;
}

/** For people: the peak memory of this process, over all it did. */
export function describePeak(): string {
  return `peak resident memory of the process, over everything above: ${mebibytes(peakRss())} MiB`;
}

const CLI = join(import.meta.dir, "../../../cli");

/** The command's sources, to be run by Bun. */
export const SOURCES: string = join(CLI, "src/main.ts");

/**
 * Makes the command as it is published, which is what people run.
 *
 * @returns the script, to be run by Bun
 * @throws Error where it cannot be made
 */
export async function publishedCommand(): Promise<string> {
  await run({ argv: [process.execPath, join(CLI, "bundle.ts")] });
  return join(CLI, "dist/main.cjs");
}
