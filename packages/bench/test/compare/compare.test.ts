import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { newReasons } from "../../src/compare/compare.ts";
import { type SuiteResult } from "../../src/report/report.ts";
import { reportSchema } from "../../src/report/report.ts";
import { type Patch, type PlantedRepository, plantedRepository } from "./planted.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
const LIBRARY = "packages/storage/src";

/** An extra HEAD request per blob. */
const EXTRA_REQUEST: Patch = {
  file: `${LIBRARY}/store/write/store-blob.ts`,
  find: "  await backend.put(address, blob, { ...given, sha256: address });",
  replace:
    "  await backend.head(address, given);\n  await backend.put(address, blob, { ...given, sha256: address });",
};

/** Seals the first fifth of every child twice. */
const SLOWER_SEALING: Patch = {
  file: `${LIBRARY}/crypto/seal.ts`,
  find: "  const bodyKey = bodyKeyOf(contentKey, blob.subarray(0, bodyStart), kind);\n",
  replace: `  const bodyKey = bodyKeyOf(contentKey, blob.subarray(0, bodyStart), kind);
  const fifth = plaintext.subarray(0, Math.floor(plaintext.length / 5));
  const scratch = ((sealChild as { scratch?: Uint8Array }).scratch ??= new Uint8Array(2 ** 22));
  naCl.seal(scratch.subarray(0, fifth.length + TAG_LENGTH), fifth, BODY_NONCE, bodyKey);
`,
};

/** Starts the command in the repository, without an object store. */
function start(
  { folder, temporary }: PlantedRepository,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
) {
  const revisions = ["main", "planted"];
  return Bun.spawn([process.execPath, MAIN, "compare", ...revisions, ...args], {
    cwd: folder,
    env: {
      ...process.env,
      CI: undefined,
      ...env,
      TMPDIR: temporary,
      MINIO_ENDPOINT: undefined,
      GITHUB_ACTIONS: undefined,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function compare(
  repository: PlantedRepository,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
) {
  const child = start(repository, args, env);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  // Neither checkouts nor folders of processes.
  const left = await readdir(repository.temporary);
  expect(left.filter((name) => !name.startsWith("out."))).toEqual([]);
  return { code, stdout, stderr };
}

/** The only suite of a report. */
async function suiteIn(file: string): Promise<SuiteResult> {
  const { suites } = reportSchema.parse(await Bun.file(file).json());
  expect(suites).toHaveLength(1);
  return suites[0]!;
}

const QUICK = ["--pairs", "1", "--max-pairs", "1"];

test("an extra request per put fails on the counter, in every output", async () => {
  await using repository = await plantedRepository(EXTRA_REQUEST);
  const [json, markdown, html] = ["json", "md", "html"].map((end) =>
    join(repository.temporary, `out.${end}`),
  ) as [string, string, string];
  const tasks = ["--tasks", "put-small,get-small,put-store"];
  const files = ["--json", json, "--markdown", markdown, "--html", html];
  const { code, stdout, stderr } = await compare(repository, [...QUICK, ...tasks, ...files]);
  expect(code).toBe(1);
  const name = "put-small: HEAD requests, against the base";
  const { targets, counters, notes, comparison } = await suiteIn(json);
  expect(targets.filter(({ kind }) => kind === "exact")).toEqual([
    { name, value: 1, unit: "count", most: 0, kind: "exact", verdict: "missed" },
  ]);
  expect(targets.map((target) => target.name)).toContain("get-small: peak memory");
  expect(counters).toContainEqual({ name: "put-small: HEAD requests", value: 1, unit: "count" });
  const commits = {
    base: await repository.git("rev-parse", "main"),
    head: await repository.git("rev-parse", "planted"),
  };
  expect(comparison).toMatchObject(commits);
  expect((await Bun.file(json).json()).revision).toBe(commits.head);
  const [pair, ...more] = comparison!.tasks[0]!.attempts[0]!.pairs;
  expect(more).toEqual([]);
  expect(pair!.head.cpu).toHaveLength(pair!.base.elapsed.length);
  expect(notes[0]).toBe("skipped without an object store: put-store");
  expect(stderr).toContain("[1/1] compare: put-small: CPU time inconclusive, ");
  expect(stdout).toContain(`FAILED compare: ${name} missed its target: 1, ≤ 0`);
  const written = await Bun.file(markdown).text();
  expect(written).toStartWith("## ❌ planted against main failed: ");
  expect(written).toMatch(/put-small: CPU time +\|[^|]+\| +[\d.]+ [mµ]s \| +[\d.]+ [mµ]s \|/u);
  expect(written).toMatch(/HEAD requests, against the base +\| ❌ missed +\| +\| +\| +1 \|/u);
  for (const text of [stdout, written, await Bun.file(html).text()]) {
    expect(text).toContain("skipped without an object store: put-store");
    expect(text).toContain(commits.base.slice(0, 12));
  }
}, 120_000);

test("a task that a new reason in the head's baseline names may get worse", async () => {
  const find = '"updates": [';
  const update = { date: "2026-01-02", reason: "put-small: one HEAD more, for safety" };
  const replace = `${find}${JSON.stringify(update)},`;
  const reason: Patch = { file: "benchmarks/baseline.json", find, replace };
  await using repository = await plantedRepository(EXTRA_REQUEST, reason);
  const json = join(repository.temporary, "out.json");
  const compared = async (task: string) =>
    (await compare(repository, [...QUICK, "--tasks", task, "--json", json])).code;
  expect(await compared("put-small")).toBe(0);
  const { targets, notes } = await suiteIn(json);
  expect(targets.find(({ kind }) => kind === "exact")).toMatchObject({ value: 1, verdict: "met" });
  expect(notes[0]).toEndWith("has a new reason: put-small: one HEAD more, for safety");
  expect(await compared("keys-1")).toBe(1);
}, 120_000);

test("reasons are new only if those of the base can be read, in whatever version", async () => {
  const folder = await mkdtemp(join(tmpdir(), "idk-reasons-"));
  const updates = (...reasons: string[]) =>
    reasons.map((reason) => ({ date: "2026-01-02", reason }));
  const found = async (base: string | undefined, head: string) => {
    for (const [side, text] of Object.entries({ base, head })) {
      const file = join(folder, side, "benchmarks/baseline.json");
      await (text === undefined ? rm(file, { force: true }) : Bun.write(file, text));
    }
    return newReasons({ folder });
  };
  try {
    const old = JSON.stringify({
      schema: "idk-bench-baseline/1",
      updates: updates("first"),
      more: 1,
    });
    const head = JSON.stringify({
      schema: "idk-bench-baseline/9",
      updates: updates("first", "then"),
    });
    expect(await found(old, head)).toEqual(["then"]);
    for (const base of [undefined, "{", "{}", '{"updates":[{"why":"first"}]}']) {
      expect(await found(base, head)).toEqual([]);
    }
    expect(await found(old, "{")).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a comparison in CI does not pass without the tasks over an object store", async () => {
  await using repository = await plantedRepository();
  const tasks = ["--tasks", "put-small,put-store"];
  const { code, stdout } = await compare(repository, [...QUICK, ...tasks], { CI: "true" });
  expect(code).toBe(1);
  expect(stdout).toContain("skipped without an object store: put-store");
}, 60_000);

test("rejects a comparison without tasks to run", async () => {
  await using repository = await plantedRepository();
  const { code, stderr } = await compare(repository, ["--tasks", "put-store"]);
  expect(stderr).toStartWith("idk bench: nothing could be compared: no object store: ");
  expect(code).toBe(2);
}, 60_000);

test("Ctrl-C leaves nothing, even while it measures", async () => {
  await using repository = await plantedRepository();
  const child = start(repository, ["--tasks", "put-memory"]);
  let seen = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    seen += text;
    // The suite has begun.
    if (seen.includes("[1/1]") && !seen.includes("stopping")) child.kill("SIGINT");
  }
  expect(await child.exited).toBe(130);
  expect(seen).toEndWith("idk bench: interrupted\n");
  expect(await readdir(repository.temporary)).toEqual([]);
}, 60_000);

const slow = process.env["IDK_TEST_SLOW"] === "1" ? describe : describe.skip;

slow("with the default pairs", () => {
  test("a head with sealing 20 % slower fails in both measurements", async () => {
    await using repository = await plantedRepository(SLOWER_SEALING);
    const json = join(repository.temporary, "out.json");
    const { code } = await compare(repository, ["--tasks", "put-memory", "--json", json]);
    const { targets, comparison } = await suiteIn(json);
    expect(targets[0]).toMatchObject({ name: "put-memory: CPU time", verdict: "missed" });
    expect(comparison!.tasks[0]!.attempts).toHaveLength(2);
    expect(code).toBe(1);
  }, 600_000);

  test("an identical head passes", async () => {
    await using repository = await plantedRepository();
    const tasks = ["--tasks", "put-memory,put-small,get-memory"];
    const { code, stdout } = await compare(repository, tasks);
    expect([code, stdout.includes("FAILED")]).toEqual([0, false]);
  }, 600_000);
});
