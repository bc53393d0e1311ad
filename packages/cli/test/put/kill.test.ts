import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createWorkspace, noise, sameBytes } from "../support/cli.ts";
import { interrupted, ownFolders, partsIn } from "../support/interrupted.ts";

/*
 * kill -9 at points derived from a seed: after a number of chunks and milliseconds. Each seed has its
 * own share of the content, so that any number of seeds covers all of it.
 */

const SEEDS = process.env["IDK_TEST_SLOW"] === "1" ? 50 : 3;
setDefaultTimeout(SEEDS * 60_000);

const CHUNK = 2 ** 18;
const CHUNKS = 128;
const workspace = await createWorkspace();
const { ok, path } = workspace;
const content = noise(CHUNKS * CHUNK - 1000, 11);
workspace.write("film", content);
const PUT = ["put", "film", "--resume", "--chunk-size", "256K"];

interface Point {
  readonly chunks: number;
  readonly delay: number;
}

/** The points at which a run with this seed is killed, once or twice in a row. */
function pointsOf(seed: number): Point[] {
  const [a = 0, b = 0, c = 0, d = 0] = new Uint32Array(noise(32, seed * 7919).buffer, 16);
  const share = (seed - 1 + a / 2 ** 32) / SEEDS;
  const first = { chunks: Math.floor(share * CHUNKS), delay: b % 12 };
  const second = { chunks: first.chunks + (c % 32), delay: d % 12 };
  return seed % 3 === 0 ? [first, second] : [first];
}

/** Runs a test for every seed. Failures name the seed. */
async function forEachSeed(work: (points: readonly Point[], seed: number) => Promise<void>) {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const points = pointsOf(seed);
    try {
      await work(points, seed);
    } catch (cause) {
      const at = points.map(({ chunks, delay }) => `${chunks} chunks and ${delay} ms`).join(", ");
      throw new Error(`seed ${seed}, killed at ${at}: ${String(cause)}`, { cause });
    }
  }
}

test(`a put that is killed continues, ${SEEDS} seeds`, async () => {
  let killed = 0;
  let resumed = 0;
  await forEachSeed(async (points, seed) => {
    const env = { IDK_STORE: `store-${seed}`, ...ownFolders() };
    const blobs = () =>
      existsSync(path(env.IDK_STORE))
        ? readdirSync(path(env.IDK_STORE), { recursive: true }).filter(
            (name) => String(name).length === 67,
          ).length
        : 0;
    for (const { chunks, delay } of points) {
      const when = () => blobs() >= chunks;
      const { code } = await interrupted(workspace, PUT, { env, signal: "SIGKILL", when, delay });
      if (code === 137) killed += 1;
    }
    const { stdout, stderr } = await ok(PUT, { env });
    if (stderr.startsWith("idk: resumed: ")) resumed += 1;
    else expect(stderr).toBe("");

    expect(readdirSync(join(env.XDG_CACHE_HOME, "idk/put"))).toEqual([]);
    const { bytes } = await ok(["get", stdout.trim()], { env });
    expect(sameBytes(bytes, content)).toBe(true);
    // Every blob of the store, whether or not it belongs to the tree.
    expect((await ok(["verify", "--deep"], { env })).stderr).toContain("none failed");
    rmSync(path(env.IDK_STORE), { recursive: true });
  });
  // Otherwise the test proves nothing.
  expect(killed).toBeGreaterThan(SEEDS / 2);
  expect(resumed).toBeGreaterThan(SEEDS / 2);
});

test(`a get that is killed continues, ${SEEDS} seeds`, async () => {
  const address = (await ok(["put", "film", "--chunk-size", "256K"])).stdout.trim();
  const parts = () => partsIn(workspace.folder);
  const get = ["get", address, "-o", "copy", "--resume"];
  const size = () =>
    Math.max(
      0,
      ...parts().map((name) => statSync(path(name), { throwIfNoEntry: false })?.size ?? 0),
    );
  let killed = 0;
  let resumed = 0;
  await forEachSeed(async (points) => {
    for (const { chunks, delay } of points) {
      // Fetching is much faster than writing with fsync.
      const when = () => size() >= chunks * CHUNK;
      const { code } = await interrupted(workspace, get, {
        signal: "SIGKILL",
        when,
        delay: delay / 4,
      });
      if (code === 137) killed += 1;
    }
    // It may have its final name already, even if the partial name was not removed yet.
    const complete = existsSync(path("copy"));
    if (complete) expect(sameBytes(workspace.read("copy"), content)).toBe(true);
    const { stderr } = await ok(complete ? [...get, "--force"] : get);
    if (/^idk: resumed: [1-9]/u.test(stderr)) resumed += 1;
    expect(sameBytes(workspace.read("copy"), content)).toBe(true);
    expect(parts()).toEqual([]);
    rmSync(path("copy"));
  });
  await ok(["verify"]);
  expect(killed).toBeGreaterThan(SEEDS / 2);
  expect(resumed).toBeGreaterThan(SEEDS / 2 - 1);
});
