/*
 * Processes that are killed with SIGKILL, at every request that a backup makes and at 50 of a prune, and run
 * again: nothing is lost, and a check finds nothing. A run of every push kills at some of them.
 */
import { contents, expected } from "../write/support.ts";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "bun:test";
import { identity, type Killed, later, openAt, optionsOf } from "./kill-support.ts";
import { all } from "../support/repositories.ts";
import { backup } from "../../src/write/backup.ts";
import { check } from "../../src/maintenance/check/check.ts";
import { createRepository } from "../../src/repository/settings.ts";
import { filesystem } from "@idk/storage/filesystem";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { join } from "node:path";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { ownerKeyOf } from "../../src/format/keys/writer.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const MIB = 2 ** 20;
const TIMEOUT = 20 * 60_000;

type Place = Pick<Killed, "work" | "source" | "pinned">;

/** A repository, and a folder to back up. */
async function place(base: string): Promise<Place> {
  const [work, source] = [join(base, "work"), join(base, "source")];
  for (const folder of [work, source]) mkdirSync(folder);
  const pinned = await createRepository({
    backend: filesystem(join(work, "store/repo"), { durability: "none" }),
    owner: ownerKeyOf(identity),
    recipients: [identity.recipient],
    graceSeconds: 3600,
  });
  return { work, source, pinned };
}

function write({ source }: Place, path: string, content: string | Uint8Array): void {
  mkdirSync(join(source, path, ".."), { recursive: true });
  writeFileSync(join(source, path), content);
}

/** The contents of each snapshot, newest first. */
async function snapshotsOf(at: Place): Promise<string[][]> {
  const repository = await openAt(at);
  const found = await all(repository.snapshots("home"));
  return Promise.all(
    found.map(async (one) => contents(await openSnapshot(repository, one), at.source)),
  );
}

async function expectClean(at: Place): Promise<void> {
  const { problems } = await check(await openAt(at), { readData: 1 });
  expect(Object.entries(problems).filter(([, count]) => count > 0)).toEqual([]);
}

async function namesIn(at: Place): Promise<string[]> {
  const { backend } = await openAt(at);
  const named = [...(await all(backend.list(""))), ...(await all(backend.listMarkers("")))];
  return named.map(({ name }) => name);
}

function run(job: Killed): { signal: unknown; requests: number; errors: string } {
  const child = Bun.spawnSync([
    process.execPath,
    join(import.meta.dir, "killed.ts"),
    JSON.stringify(job),
  ]);
  const [requests, errors] = [Number(child.stdout.toString()), child.stderr.toString()];
  return { signal: child.signalCode, requests, errors };
}

/** Runs a command to its end, and kills it at some of its requests, each time in a copy of the place. */
async function killAt(
  at: Place,
  command: Killed["command"],
  points: number,
  each: (copy: Place) => Promise<void>,
): Promise<void> {
  const copyOf = (name: string): Place => {
    const work = `${at.work}-${name}`;
    cpSync(at.work, work, { recursive: true, preserveTimestamps: true });
    return { ...at, work };
  };
  const whole = copyOf("whole");
  const { requests, errors } = run({ ...whole, command, request: 0, isDone: false });
  expect(errors).toBe("");
  expect(requests).toBeGreaterThan(9);
  const count = Math.min(points, 2 * requests);
  for (let point = 0; point < count; point += 1) {
    const twice = Math.floor(((point + 0.5) * 2 * requests) / count);
    const [request, isDone] = [1 + (twice >> 1), twice % 2 === 1];
    const copy = copyOf(`${point}`);
    expect(run({ ...copy, command, request, isDone }).signal).toBe("SIGKILL");
    await expectClean(copy);
    await each(copy);
    await expectClean(copy);
    rmSync(copy.work, { recursive: true });
  }
}

async function inFolder(use: (at: Place) => Promise<void>): Promise<void> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "idk-kill-")));
  try {
    await use(await place(base));
  } finally {
    rmSync(base, { recursive: true });
  }
}

test(
  "a backup that is killed and run again loses nothing",
  () =>
    inFolder(async (at) => {
      write(at, "a", "first");
      write(at, "folder/b", randomBytes(5 * MIB));
      await backup(await openAt(at), optionsOf(at));
      const [first] = await snapshotsOf(at);
      write(at, "a", "second");
      write(at, "folder/new/c", randomBytes(9 * MIB));
      write(at, "folder/new/d", randomBytes(3 * MIB));
      await killAt(at, "backup", SLOW ? Infinity : 4, async (copy) => {
        const between = await snapshotsOf(copy);
        expect(between.at(-1)).toEqual(first);
        // Only if it was killed after its marker came.
        if (between.length > 1) expect(between[0]).toEqual(expected(copy.source));
        await backup(await openAt(copy), optionsOf(copy));
        const [newest, ...others] = await snapshotsOf(copy);
        expect(newest).toEqual(expected(copy.source));
        expect(others.at(-1)).toEqual(first);
      });
    }),
  TIMEOUT,
);

test(
  "a prune that is killed and run again loses nothing",
  () =>
    inFolder(async (at) => {
      for (let version = 0; version < 6; version += 1) {
        write(at, "changing", randomBytes(50_000));
        write(at, `folder-${version}/new`, `${version}`);
        await backup(await openAt(at), optionsOf(at));
      }
      const kept = (await snapshotsOf(at)).slice(0, 2);
      const policy = { last: 2 };
      await forget(await openAt(at), { policy, recipients: [identity.recipient] });
      const whole = { ...at, work: `${at.work}-pruned` };
      cpSync(at.work, whole.work, { recursive: true, preserveTimestamps: true });
      await prune(await openAt(whole, later));
      const left = await namesIn(whole);
      expect(left.length).toBeLessThan((await namesIn(at)).length - 12);
      await killAt(at, "prune", SLOW ? 50 : 4, async (copy) => {
        expect((await snapshotsOf(copy)).slice(0, 2)).toEqual(kept);
        await prune(await openAt(copy, later));
        expect(await snapshotsOf(copy)).toEqual(kept);
        expect(await namesIn(copy)).toEqual(left);
      });
    }),
  TIMEOUT,
);
