/*
 * The results of comparing two revisions: `--json` writes them, and tables, Markdown and HTML show them.
 * Times are in seconds, sizes in bytes, ratios are natural logarithms of head over base: 0 is no
 * difference, 0.05 about 5 % slower, −0.05 about 5 % faster.
 */
import { z } from "zod";
import type { Interval, Machine } from "../report/report.ts";
import { interval, machine } from "../report/schema.ts";

/** Changes when older readers would misread the comparison. */
export const COMPARISON_SCHEMA = "idk-bench-comparison/1";

/**
 * - `slower`: the whole interval is above the tolerance. The gate fails.
 * - `faster`: the whole interval is below minus the tolerance.
 * - `same`: no slower than the tolerance.
 * - `inconclusive`: the interval contains the tolerance after the last round. The gate passes.
 */
export type Verdict = "faster" | "same" | "slower" | "inconclusive";

/** The times of three fresh processes, run one after another in random order. */
export interface Round {
  readonly base: number;
  /** A second run of the base, to estimate the noise. */
  readonly again: number;
  readonly head: number;
}

/** One measurement of a task. */
export interface Attempt {
  /** Without warm-up rounds. */
  readonly rounds: readonly Round[];
  /** ln(head / base) of each round. */
  readonly ratios: readonly number[];
  readonly median: number;
  /** Bootstrap interval of the median of the ratios. */
  readonly interval: Interval;
  /** Half the width of the same interval of ln(again / base). */
  readonly noise: number;
  /** The limit for the lower end of the interval: the task's own tolerance, or twice the noise if larger. */
  readonly tolerance: number;
  readonly verdict: Verdict;
}

/** What is counted exactly per operation. */
export type CounterName =
  | "requests"
  | "bytesSent"
  | "bytesReceived"
  | "bytesHashed"
  | "storedOverhead";

export interface Counter {
  readonly name: CounterName;
  readonly base: number;
  readonly head: number;
  /** Any increase is a failure. */
  readonly change: "none" | "less" | "more";
}

export interface TaskComparison {
  /** The name on the command line: "put-memory". */
  readonly task: string;
  readonly title: string;
  /** Which time is measured: CPU time of the process, or elapsed time. */
  readonly bound: "cpu" | "io";
  /** There is a second attempt if the first was slower. */
  readonly attempts: readonly Attempt[];
  /** The verdict of the last attempt. */
  readonly verdict: Verdict;
  readonly counters: readonly Counter[];
  /** Neither slower in both attempts, nor with a larger counter. */
  readonly passed: boolean;
}

/** The attempt that decided the verdict. */
export function lastAttempt({ attempts }: TaskComparison): Attempt {
  return attempts.at(-1)!;
}

/** A task that the base revision cannot run, or that lacks an object store, and why. */
export interface SkippedTask {
  readonly task: string;
  readonly reason: string;
}

export interface Revision {
  /** As given, such as "main". */
  readonly name: string;
  /** 40 hex digits. */
  readonly commit: string;
}

export interface Comparison {
  readonly schema: typeof COMPARISON_SCHEMA;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  readonly base: Revision;
  readonly head: Revision;
  /** Determines the order of processes and the resamples. */
  readonly seed: number;
  readonly tasks: readonly TaskComparison[];
  readonly skipped: readonly SkippedTask[];
  /** Why the gate fails, one line each; empty if it passes. */
  readonly failures: readonly string[];
}

const text = z.string().min(1);
const seconds = z.number().positive();
const count = z.number().nonnegative();
const verdict = z.enum(["faster", "same", "slower", "inconclusive"]);

const attempt: z.ZodType<Attempt> = z.strictObject({
  rounds: z.array(z.strictObject({ base: seconds, again: seconds, head: seconds })).min(1),
  ratios: z.array(z.number()).min(1),
  median: z.number(),
  interval,
  noise: z.number().nonnegative(),
  tolerance: z.number().positive(),
  verdict,
});

const counter: z.ZodType<Counter> = z.strictObject({
  name: z.enum(["requests", "bytesSent", "bytesReceived", "bytesHashed", "storedOverhead"]),
  base: count,
  head: count,
  change: z.enum(["none", "less", "more"]),
});

const task: z.ZodType<TaskComparison> = z.strictObject({
  task: text,
  title: text,
  bound: z.enum(["cpu", "io"]),
  attempts: z.array(attempt).min(1).max(2),
  verdict,
  counters: z.array(counter),
  passed: z.boolean(),
});

const revision: z.ZodType<Revision> = z.strictObject({
  name: text,
  commit: z.string().regex(/^[0-9a-f]{40}$/u),
});

/** The published schema of comparisons. */
export const comparisonSchema: z.ZodType<Comparison> = z.strictObject({
  schema: z.literal(COMPARISON_SCHEMA),
  createdAt: z.iso.datetime(),
  seconds: count,
  machine,
  base: revision,
  head: revision,
  seed: z.number().int(),
  tasks: z.array(task),
  skipped: z.array(z.strictObject({ task: text, reason: text })),
  failures: z.array(z.string()),
});
