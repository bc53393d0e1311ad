/**
 * Measures other programs, and jobs of this package in child processes. The parent must stay small:
 * on Linux, the peak memory of a child is never reported below the peak of its parent.
 */
import { join } from "node:path";
import type { Taken } from "./memory.ts";

export interface Program {
  readonly argv: readonly string[];
  /** Added to the environment of this process; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Ran = Taken & { readonly stdout: string };

/**
 * Runs a program to its end and measures it, start-up included. CPU time includes child processes that
 * their parents waited for; peak memory is that of the largest process.
 *
 * @throws Error with the program's output if it fails; the signal's reason
 */
export async function run({ argv, env = {}, signal }: Program): Promise<Ran> {
  signal?.throwIfAborted();
  const start = performance.now();
  const child = Bun.spawn([...argv], {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...(signal && { signal }),
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const seconds = (performance.now() - start) / 1000;
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`${argv.join(" ")} failed (${code}): ${stderr || stdout}`);
  const usage = child.resourceUsage();
  if (usage === undefined) throw new Error(`the resource usage of ${argv[0]} is unknown`);
  const cpuSeconds = Number(usage.cpuTime.total) / 1e6;
  return { seconds, cpuSeconds, peakRss: usage.maxRSS, stdout };
}

/**
 * Like `run`, from a small process in between. Peak memory is not reported below that process's own, some
 * 40 MiB, instead of that of this one, which may be hundreds.
 */
export function runAside({ argv, env, signal }: Program): Promise<Ran> {
  return runJob<Ran>(join(import.meta.dirname, "run-aside.ts"), { argv, env }, { env, signal });
}

/** The output of git in a folder, without the variables of hooks, which name another repository. */
export async function git(
  folder: string,
  args: readonly string[],
  signal?: AbortSignal,
): Promise<string> {
  const inherited = Object.keys(process.env).filter((name) => name.startsWith("GIT_"));
  const env = Object.fromEntries(inherited.map((name) => [name, undefined]));
  return (await run({ argv: ["git", "-C", folder, ...args], env, signal })).stdout;
}

/** A shell command line that fails if any part of a pipeline fails. */
export function shell(script: string, args: readonly string[] = []): readonly string[] {
  return ["bash", "-euo", "pipefail", "-c", script, "bash", ...args];
}

/** The flags with which the command starts Bun, so that no file of the current folder is obeyed. */
export const RUNTIME_FLAGS: readonly string[] = [
  "--no-env-file",
  "--no-install",
  "--config=/dev/null",
  "--tsconfig-override=/dev/null",
];

const JOB = "--job";
/** Not on the command line, because that is in the process list and in error messages. */
const JOB_VARIABLE = "IDK_BENCH_JOB";

/** How to start a script that answers a job with `answerJob`. */
export function jobProgram(script: string, job: unknown): Required<Pick<Program, "argv" | "env">> {
  const argv = [process.execPath, ...RUNTIME_FLAGS, script, JOB];
  return { argv, env: { [JOB_VARIABLE]: JSON.stringify(job) } };
}

/** Runs a job in a child process: a script that answers it with `answerJob`. */
export async function runJob<Outcome>(
  script: string,
  job: unknown,
  { env, signal }: Pick<Program, "env" | "signal"> = {},
): Promise<Outcome> {
  const program = jobProgram(script, job);
  const { stdout } = await run({ ...program, env: { ...env, ...program.env }, signal });
  return JSON.parse(stdout) as Outcome;
}

/**
 * If `runJob` started this process, does the job, prints its outcome and ends the process, which open
 * connections would keep alive. A script with a job ends with this call.
 */
export async function answerJob(work: (job: never) => Promise<unknown>): Promise<void> {
  const job = process.env[JOB_VARIABLE];
  if (process.argv[2] !== JOB || job === undefined) return;
  const outcome = JSON.stringify(await work(JSON.parse(job) as never));
  process.stdout.write(outcome, () => process.exit(0));
}

const ROOT = join(import.meta.dirname, "../../../..");
const CLI = join(ROOT, "packages/cli");

/** The entry point of the command's sources. */
export const SOURCES: string = join(CLI, "src/main.ts");

/**
 * Bundles the command as it is published.
 *
 * @returns the path of the script, to run with Bun and `RUNTIME_FLAGS`
 * @throws Error if bundling fails
 */
export async function publishedCommand(): Promise<string> {
  await run({ argv: [process.execPath, join(CLI, "bundle.ts")] });
  return join(CLI, "dist/main.cjs");
}

/**
 * Compiles the command for this machine as it is released, for download. The first time, npm downloads
 * the Bun that it contains.
 *
 * @param folder an existing one, for the executable and what it is made of: some 250 MB
 * @returns the path of the executable
 * @throws Error if compiling fails, or nothing is released for this machine
 */
export async function releasedCommand(folder: string, signal?: AbortSignal): Promise<string> {
  const system = { darwin: "macos", win32: "windows" }[process.platform as string];
  const platform = `${system ?? process.platform}-${process.arch}`;
  const script =
    `const { compileFor } = await import(${JSON.stringify(join(ROOT, "script/release.ts"))});` +
    `console.log((await compileFor(...${JSON.stringify([platform, folder])})).outfile);`;
  return (await run({ argv: [process.execPath, "-e", script], signal })).stdout.trim();
}
