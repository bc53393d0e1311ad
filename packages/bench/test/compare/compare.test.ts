import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { type CompareSettings, compareCommand } from "../../src/compare/compare.ts";
import { type Comparison, comparisonSchema } from "../../src/compare/comparison.ts";
import { type Patch, type PlantedRepository, plantedRepository } from "./planted.ts";

const LIBRARY = "packages/storage/src";

/** An extra HEAD request per blob. */
const EXTRA_REQUEST: Patch = {
  file: `${LIBRARY}/store/write/store-blob.ts`,
  find: "  await backend.put(address, blob, { signal, sha256: address });",
  replace:
    "  await backend.head(address, { signal });\n  await backend.put(address, blob, { signal, sha256: address });",
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

interface Ran {
  readonly comparison: Comparison;
  readonly printed: string;
}

async function compare(
  repository: PlantedRepository,
  settings: Partial<CompareSettings>,
): Promise<Ran> {
  const printed: string[] = [];
  const comparison = await compareCommand(
    { base: "main", head: "planted", seed: 1, repository: repository.folder, ...settings },
    {
      signal: new AbortController().signal,
      print: (line) => printed.push(line),
      log: () => {},
    },
  );
  return { comparison, printed: printed.join("\n") };
}

const QUICK = { pairs: 1, maxPairs: 1 };

test("an extra request per put fails on the counter, in every output", async () => {
  await using repository = await plantedRepository(EXTRA_REQUEST);
  const [json, markdown] = ["json", "md"].map((end) => join(repository.temporary, `out.${end}`));
  const { comparison, printed } = await compare(repository, {
    ...QUICK,
    tasks: ["put-small", "get-small"],
    json,
    markdown,
  });
  const failure = "put-small: HEAD requests 0 → 1 per operation";
  expect(comparison.failures).toContain(failure);
  const [put, get] = comparison.tasks;
  expect(put!.counters.filter(({ change }) => change !== "none")).toEqual([
    { name: "HEAD", base: 0, head: 1, change: "more" },
  ]);
  expect(put!.passed).toBe(false);
  expect(get!.counters.every(({ change }) => change === "none")).toBe(true);
  expect(comparison.base).toEqual({
    name: "main",
    commit: await repository.git("rev-parse", "main"),
  });
  expect(printed).toContain(`FAILED: ${failure}`);
  expect(await readFile(markdown!, "utf8")).toContain("HEAD requests 0 → 1");
  const written = comparisonSchema.parse(JSON.parse(await readFile(json!, "utf8")));
  expect(written).toEqual(comparison);
  expect(await repository.git("worktree", "list")).not.toContain("\n");
}, 60_000);

test("rejects a comparison without tasks to run", async () => {
  await using repository = await plantedRepository();
  const nothing = compare(repository, { ...QUICK, tasks: ["put-store"] });
  expect(await nothing.catch(String)).toBe(
    "Usage: nothing could be compared: put-store, no object store was given",
  );
  const unknown = compare(repository, { ...QUICK, tasks: ["put-stone"] });
  expect(await unknown.catch(String)).toContain(
    'there is no task "put-stone"; there are put-memory',
  );
}, 60_000);

const slow = process.env["IDK_TEST_SLOW"] === "1" ? describe : describe.skip;

slow("with the default pairs", () => {
  test("a head with sealing 20 % slower fails in both measurements", async () => {
    await using repository = await plantedRepository(SLOWER_SEALING);
    const { comparison } = await compare(repository, { tasks: ["put-memory"] });
    const [task] = comparison.tasks;
    expect(task!.verdicts.cpu).toBe("worse");
    expect(task!.attempts).toHaveLength(2);
    expect(comparison.failures[0]).toStartWith("put-memory: CPU time +");
  }, 600_000);

  test("an identical head passes", async () => {
    await using repository = await plantedRepository();
    const { comparison } = await compare(repository, {
      tasks: ["put-memory", "put-small", "get-memory"],
    });
    expect(comparison.failures).toEqual([]);
  }, 600_000);
});
