import { afterAll, expect, test } from "bun:test";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Draw, drawFrom } from "./draw.ts";

/*
 * Runs a target with one seed after the other. Each seed determines one execution, on every machine, and
 * without a time they are the same ones each time:
 *
 *   IDK_FUZZ_SECONDS=600 bun test ./tests/fuzz          for so long, all targets together
 *   IDK_FUZZ_START=7000000 bun test ./tests/fuzz        from which seed on, to see others
 *   IDK_FUZZ_SEED=1234 bun test ./tests/fuzz/NAME.test.ts     this one only
 */

/** Executions of each target, about 20 seconds of one core together. */
const EXECUTIONS = {
  blobs: 900,
  responses: 6000,
  journals: 200,
  config: 25_000,
  names: 1600,
  snapshots: 50_000,
} as const;

/** How a given time is divided. */
const SHARES = {
  blobs: 0.35,
  responses: 0.2,
  journals: 0.15,
  config: 0.15,
  names: 0.05,
  snapshots: 0.1,
} as const;

const SECONDS = numberIn("IDK_FUZZ_SECONDS");
const START = numberIn("IDK_FUZZ_START") ?? 1;
const ONLY = numberIn("IDK_FUZZ_SEED");

/** For the executions of a target on a machine that is slow and busy. */
const TARGET_SECONDS_MAX = 600;
/** One execution takes some milliseconds. It runs beside other tests, so the limit is generous. */
const EXECUTION_SECONDS_MAX = 20;
/** Resident memory above that at the start. A few buffers of 16 MiB are in use, and freed late. */
const GROWTH_MAX = 512 * 2 ** 20;
const MEMORY_EVERY = 64;

const folder = join(import.meta.dir, "../../.cache/fuzz");

/**
 * Defines the test of a target, whose file is NAME.test.ts. An execution fails if it throws, takes too
 * long or too much memory.
 */
export function fuzz(name: keyof typeof SHARES, execute: (draw: Draw) => Promise<void>): void {
  const seconds = SECONDS && SECONDS * SHARES[name];
  test(
    `${name} withstand mutation`,
    async () => {
      const rerun = `IDK_FUZZ_SEED=%d bun test ./tests/fuzz/${name}.test.ts`;
      mkdirSync(folder, { recursive: true });
      // Whatever ends or stops this process, this file has the seed.
      const running = join(folder, `${name}.seed`);
      const file = openSync(running, "w");
      const started = performance.now();
      const elapsed = () => (performance.now() - started) / 1000;
      const memory = memoryWatch();
      let executions = 0;
      for (let seed = ONLY ?? START; ; seed = (seed + 1) >>> 0) {
        writeSync(file, `${seed}`.padEnd(10), 0);
        try {
          await withinTime(execute(drawFrom(seed)));
          if (executions % MEMORY_EVERY === 0) memory.check();
        } catch (error) {
          const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
          throw new Error(
            `seed ${seed}, after ${executions} others; again: ${rerun.replace("%d", `${seed}`)}\n${text}`,
            { cause: error },
          );
        }
        executions += 1;
        const isEnough =
          seconds === undefined ? executions >= EXECUTIONS[name] : elapsed() >= seconds;
        if (ONLY !== undefined || isEnough) break;
      }
      closeSync(file);
      rmSync(running);
      report(name, executions, elapsed());
    },
    ((seconds ?? TARGET_SECONDS_MAX) + 4 * EXECUTION_SECONDS_MAX) * 1000,
  );
}

/** An execution that reaches nothing finds nothing. Counts what executions ended in. */
export function outcomes(
  name: string,
  atLeast: Readonly<Record<string, number>>,
): (outcome: string) => void {
  const counts = new Map<string, number>();
  let total = 0;
  afterAll(() => {
    const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
    console.log(`fuzz ${name}: ${sorted.map(([key, n]) => `${key} ${n}`).join(", ")}`);
    // Of a few executions, none may reach a rare outcome.
    if (ONLY !== undefined || total < ENOUGH) return;
    for (const [outcome, share] of Object.entries(atLeast)) {
      expect({ outcome, often: (counts.get(outcome) ?? 0) >= share * total }).toEqual({
        outcome,
        often: true,
      });
    }
  });
  return (outcome) => {
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    total += 1;
  };
}

const ENOUGH = 500;

function report(name: string, executions: number, seconds: number): void {
  const rate = (executions / seconds).toFixed(0);
  console.log(`fuzz ${name}: ${executions} executions in ${seconds.toFixed(1)} s, ${rate}/s`);
}

async function withinTime(execution: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`not finished after ${EXECUTION_SECONDS_MAX} s`)),
      EXECUTION_SECONDS_MAX * 1000,
    );
  });
  const started = performance.now();
  try {
    await Promise.race([execution, late]);
  } finally {
    clearTimeout(timer);
  }
  // A loop without a pause does not let the timer fire.
  const seconds = (performance.now() - started) / 1000;
  if (seconds > EXECUTION_SECONDS_MAX) throw new Error(`took ${seconds.toFixed(0)} s`);
}

function memoryWatch(): { check(): void } {
  let start: number | undefined;
  return {
    check() {
      const now = process.memoryUsage.rss();
      // The first execution has loaded and allocated what all of them use.
      start ??= now;
      if (now - start < GROWTH_MAX) return;
      Bun.gc(true);
      const kept = process.memoryUsage.rss() - start;
      if (kept >= GROWTH_MAX) throw new Error(`memory has grown by ${kept >> 20} MiB`);
    },
  };
}

function numberIn(variable: string): number | undefined {
  const text = process.env[variable] ?? "";
  if (text === "") return undefined;
  const number = Number(text);
  if (!(number >= 0)) throw new Error(`${variable} must be a number, not ${text}`);
  return number;
}
