import { afterEach, beforeEach, expect, test } from "bun:test";
import { filesystem } from "@idk/storage/filesystem";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStore } from "@idk/storage";
import { type RecorderStats, createRecorder } from "../../src/index.ts";
import { checkArchive } from "../../src/read/index.ts";
import type { Exchange } from "../../src/record/exchange.ts";
import { identity, type Segment, segmentsIn } from "../support/archive.ts";
import { droppedIn, expectBalanced } from "../support/totals.ts";
import { until } from "../support/until.ts";

/*
 * Processes that share a spool, and are ended in the middle of their work: 10 of them, and 50 if
 * `IDK_TEST_SLOW` is 1.
 */

const KILLS = process.env["IDK_TEST_SLOW"] === "1" ? 50 : 10;
let folder: string;
let spool: string;
let store: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-processes-"));
  [spool, store] = [join(folder, "spool"), join(folder, "store")];
});
afterEach(() => rm(folder, { recursive: true }));

function start() {
  const program = join(import.meta.dir, "recording-process.ts");
  return Bun.spawn([process.execPath, program, spool, store, identity.recipient], {
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** What a process prints: the port, and then how many exchanges were over when. */
interface Output {
  port: number;
  readonly over: { readonly count: number; readonly at: number }[];
  rest: string;
}

function follow(stdout: ReadableStream<Uint8Array>): { output: Output; ended: Promise<void> } {
  const output: Output = { port: 0, over: [], rest: "" };
  const read = async (): Promise<void> => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of stdout) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split("\n");
      text = lines.pop()!;
      for (const line of lines) {
        if (output.port === 0) output.port = Number(line);
        else if (line.startsWith("{")) output.rest = line;
        else output.over.push({ count: Number(line), at: performance.now() });
      }
    }
  };
  return { output, ended: read() };
}

/** Uploads what processes have left, as the next process does. */
async function adopt(): Promise<void> {
  const recorder = createRecorder({
    backend: filesystem(store, { durability: "none" }),
    recipients: [identity.recipient],
    spool,
    limits: { orphanMs: 300 },
    onError: (error) => console.error(error),
  });
  await until(async () => (await readdir(spool)).length === 0);
  await recorder.close();
}

function byRun(segments: readonly Segment[]): Segment[][] {
  const runs = new Map<string, Segment[]>();
  for (const segment of segments) {
    const { run } = segment.metadata;
    runs.set(run, [...(runs.get(run) ?? []), segment]);
  }
  return [...runs.values()];
}

function numbersIn(segments: readonly Segment[]): number[] {
  return segments.flatMap(({ text }) =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => Number((JSON.parse(line) as Exchange).id.split("-")[1])),
  );
}

test("processes that share a spool and are killed lose no more than the open segment", async () => {
  const killed: { output: Output; at: number }[] = [];
  for (let i = 0; i < KILLS; i += 2) {
    const pair = [start(), start()];
    const followed = pair.map(({ stdout }) => follow(stdout));
    await until(() => followed.every(({ output }) => output.over.length > 3));
    await Bun.sleep(Math.random() * 300);
    for (const child of pair) child.kill("SIGKILL");
    const at = performance.now();
    await Promise.all([
      ...followed.map(({ ended }) => ended),
      ...pair.map((child) => child.exited),
    ]);
    for (const { output } of followed) killed.push({ output, at });
  }
  await adopt();

  const archive = createStore({ backend: filesystem(store), identities: [identity] });
  const report = await checkArchive(archive);
  expect(report.problems).toEqual([]);
  expect(report.runs.map(({ end }) => end)).toEqual(killed.map(() => "lost"));

  const runs = byRun(await segmentsIn(filesystem(store)));
  expect(runs).toHaveLength(killed.length);
  const counts: number[] = [];
  for (const segments of runs) {
    const lost = segments.filter(({ metadata }) => metadata.end === "lost");
    // More than one if a process was killed while it wrote that of another.
    expect(lost.length).toBeGreaterThan(0);
    const written = segments.filter(({ metadata }) => metadata.end === undefined);
    // Without gaps, each naming the one before.
    expect(written.map(({ metadata }) => metadata.seq)).toEqual(written.map((_, i) => i));
    expect(written.slice(1).every(({ metadata }) => metadata.prev !== undefined)).toBe(true);
    const numbers = numbersIn(written);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(written.at(-1)?.metadata.totals.stored ?? 0).toBe(numbers.length);
    // Every tenth was declined, and everything else up to the last stored one is there.
    const upTo = (numbers.at(-1) ?? -1) + 1;
    const declined = Array.from({ length: upTo }, (_, n) => n).filter((n) => n % 10 === 7).length;
    expect(numbers.length + declined).toBe(upTo);
    counts.push(upTo);
  }
  // What was over a second before the kill is stored: segments are sealed every 40 ms.
  counts.sort((a, b) => a - b);
  const needed = killed
    .map(({ at, output }) => output.over.findLast((over) => over.at < at - 1000)?.count ?? 0)
    .toSorted((a, b) => a - b);
  for (const [i, count] of needed.entries()) expect(counts[i]!).toBeGreaterThanOrEqual(count - 3);
}, 300_000);

test("SIGTERM under load stores everything that was seen", async () => {
  const child = start();
  const { ended, output } = follow(child.stdout);
  await until(() => output.port !== 0);
  let stopped = false;
  const load = async (): Promise<void> => {
    while (!stopped) {
      await fetch(`http://127.0.0.1:${output.port}/load`)
        .then((response) => response.text())
        .catch(() => {});
    }
  };
  const clients = Array.from({ length: 10 }, load);
  await Bun.sleep(500);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  stopped = true;
  await Promise.all([...clients, ended]);
  expect(await new Response(child.stderr).text()).toBe("");

  const stats = JSON.parse(output.rest) as RecorderStats;
  expectBalanced(stats);
  expect(stats).toMatchObject({ open: 0, queued: 0, dropped: {} });
  const segments = await segmentsIn(filesystem(store));
  expect(numbersIn(segments)).toHaveLength(stats.stored);
  expect(stats.stored + stats.notKept + droppedIn(stats)).toBe(stats.seen);
  expect(segments.at(-1)!.metadata.end).toBe("closed");
  expect(segments.at(-1)!.metadata.totals.stored).toBe(stats.stored);
  expect(await readdir(spool)).toEqual([]);
}, 120_000);
