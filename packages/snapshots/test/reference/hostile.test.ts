import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { StorageError, identityFromSecretKey } from "@idk/storage";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { referenceFolder, referencePython, skipped } from "../support/reference.ts";
import { discoverRepository } from "../../src/repository/discover.ts";
import { filesystem } from "@idk/storage/filesystem";
import { join } from "node:path";
import { openRepository } from "../../src/repository/open.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { shownTree } from "../support/shown.ts";
import { spawnSync } from "node:child_process";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

/** A line that the program in Python prints for each repository that it makes. */
interface Case {
  readonly name: string;
  readonly code: string;
  readonly note: string;
  /** Whether only a restore sees the fault. */
  readonly restores: boolean;
}

/** That of `suite/snapshots.py`. */
const identity = identityFromSecretKey(Uint8Array.from({ length: 32 }, (_, at) => at));

/** What reading everything in a repository ends with. */
async function resultOf(store: string): Promise<{ result: string; message?: string }> {
  const backend = filesystem(join(store, "repo"));
  const refused: unknown[] = [];
  try {
    const pinned = await discoverRepository({ backend, identity });
    if (pinned === undefined) return { result: "no repository" };
    const memory = volatileHeadMemory();
    const repository = await openRepository({ backend, identities: [identity], pinned, memory });
    const onRefused = ({ error }: { error: unknown }) => refused.push(error);
    for await (const found of repository.snapshots("home", { onRefused })) {
      await shownTree(await openSnapshot(repository, found));
      return { result: "ok" };
    }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { result: error.code, message: error.message };
  }
  const isHead = refused.some((error) => error instanceof StorageError && error.code === "head");
  return { result: isHead ? "refused" : "unlisted" };
}

describe.skipIf(referencePython === undefined)(`repositories with one fault each${skipped}`, () => {
  let base: string;
  let cases: readonly Case[];
  beforeAll(() => {
    base = realpathSync(mkdtempSync("/tmp/idk-hostile-"));
    const made = spawnSync(referencePython!, ["-m", "suite.snapshots", base], {
      cwd: referenceFolder,
      encoding: "utf8",
    });
    if (made.status !== 0) throw new Error(made.stderr);
    cases = made.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Case);
  }, 120_000);
  afterAll(() => rmSync(base, { recursive: true, force: true }), 120_000);

  test("end here with the same code as in Python, and good ones with none", async () => {
    const expected: string[] = [];
    const found: string[] = [];
    for (const { name, code, note, restores } of cases) {
      if (restores) continue;
      const { result, message } = await resultOf(join(base, name));
      expected.push(`${name} (${note}): ${code}`);
      found.push(`${name} (${note}): ${result}`);
      // The error says what is wrong, and not only that something is.
      if (message !== undefined) expect(message.length).toBeGreaterThan(20);
    }
    expect(found).toEqual(expected);
    expect(found.length).toBeGreaterThan(130);
  }, 120_000);
});
