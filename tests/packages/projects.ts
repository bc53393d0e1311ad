import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { expect } from "bun:test";
import { join } from "node:path";
import { buildPage } from "@idk/link/build-page";

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

/**
 * An environment with an empty home folder in which npm still reaches the registry: the settings of
 * this machine name it, its certificates and a proxy. They are named explicitly because `--prefix`
 * makes npm look for its global settings elsewhere. Without them npm tries again for minutes, so here
 * it tries again after a second or two, which a connection that broke once needs.
 *
 * @param path the PATH
 */
export async function cleanNpm(folder: string, path: string): Promise<NodeJS.ProcessEnv> {
  const home = join(folder, "home");
  await mkdir(home, { recursive: true });
  const settings = ["userconfig", "globalconfig", "cache"].map(async (name) => {
    const value = await ok(["npm", "config", "get", name], folder);
    return [`npm_config_${name}`, value.trim()];
  });
  const network = /^(?:(?:https?|no)_proxy|npm_config_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_.*)$/iu;
  const kept = Object.entries(process.env).filter(([name]) => network.test(name));
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(await Promise.all(settings)),
    npm_config_audit: "false",
    npm_config_fetch_retries: "2",
    npm_config_fetch_retry_mintimeout: "1000",
    npm_config_fetch_retry_maxtimeout: "2000",
    npm_config_fund: "false",
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
    HOME: home,
    PATH: path,
  };
}

/** The arguments of npm before the names of packages. What it has cached, it does not ask for again. */
export const NPM_INSTALL: readonly string[] = [
  "install",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
];

/** Makes an empty project, an ES module, and returns its folder. */
export async function emptyProject(folder: string, name: string): Promise<string> {
  const at = join(folder, name);
  await mkdir(at);
  await writeFile(join(at, "package.json"), '{"private":true,"type":"module"}\n');
  return at;
}

/** The program of `roundTripProject`; its arguments are those of node-round-trip.mjs. */
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

/** Expects that a folder has the page that opens links, as it is built from the sources. */
export async function expectPage(folder: string): Promise<void> {
  const { files } = await buildPage();
  expect([...files.keys()]).toContain("service-worker.js");
  for (const [name, text] of files) {
    expect(await Bun.file(join(folder, name)).text()).toBe(text);
  }
}
