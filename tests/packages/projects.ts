import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { expect } from "bun:test";
import { join } from "node:path";

/** The root of the repository. */
export const root: string = join(import.meta.dir, "../..");

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. `env` replaces the whole environment. */
export async function run(
  argv: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  const child = Bun.spawn([...argv], { cwd, env, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

/** Runs a program that has to succeed, and returns its standard output. */
export async function ok(
  argv: readonly string[],
  cwd: string,
  env?: NodeJS.ProcessEnv,
): Promise<string> {
  const { code, stdout, stderr } = await run(argv, cwd, env);
  expect({ argv, code, stderr: code === 0 ? "" : stderr + stdout }).toEqual({
    argv,
    code: 0,
    stderr: "",
  });
  return stdout;
}

/** Makes an empty project, an ES module, and returns its folder. */
export async function emptyProject(folder: string, name: string): Promise<string> {
  const at = join(folder, name);
  await mkdir(at);
  await writeFile(join(at, "package.json"), '{"private":true,"type":"module"}\n');
  return at;
}

/** The program of `roundTripProject`; its argument is the NaCl to use, `native` or `portable`. */
export const ROUND_TRIP = "tests/runtimes/round-trip.mjs";

/** Makes a project with a program that uses the library. */
export async function roundTripProject(folder: string, name: string): Promise<string> {
  const at = await emptyProject(folder, name);
  await mkdir(join(at, "tests/runtimes"), { recursive: true });
  await mkdir(join(at, "testdata"));
  const answers = "testdata/known-answers.json";
  await copyFile(join(root, answers), join(at, answers));
  await copyFile(join(root, "tests/runtimes/node-round-trip.mjs"), join(at, ROUND_TRIP));
  return at;
}
