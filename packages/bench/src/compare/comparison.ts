/*
 * What a comparison of two revisions found: written with `--json`, shown in tables, Markdown and
 * HTML. Times are in seconds, sizes in bytes, ratios as natural logarithms of head over base: 0 is
 * no difference, 0.05 about 5 % slower, −0.05 about 5 % faster.
 */
import { z } from "zod";
import type { Interval, Machine } from "../report/report.ts";
import { interval, machine } from "../report/schema.ts";

/** Bumped when a reader of the old one would misread the new one. */
export const COMPARISON_SCHEMA = "idk-bench-comparison/1";

/**
 * - `slower`: the whole interval lies above the tolerance. The gate fails.
 * - `faster`: the whole interval lies below minus the tolerance.
 * - `same`: no slower than the tolerance.
 * - `inconclusive`: the interval reaches from one side of the tolerance to the other, and rounds
 *   are used up. The gate lets it pass.
 */
export type Verdict = "faster" | "same" | "slower" | "inconclusive";

/** What three fresh processes took, one after another in random order. */
export interface Round {
  readonly base: number;
  /** The base once more, to see how far two equal things differ here. */
  readonly again: number;
  readonly head: number;
}

/** A task compared once. */
export interface Attempt {
  /** Without those that warmed up. */
  readonly rounds: readonly Round[];
  /** ln(head / base) of each round. */
  readonly ratios: readonly number[];
  readonly median: number;
  /** Of the median of the ratios, by bootstrap. */
  readonly interval: Interval;
  /** Half of the width of the same interval of ln(again / base). */
  readonly noise: number;
  /** What the lower end of the interval may reach: the larger of the task's own, and twice the noise. */
  readonly tolerance: number;
  readonly verdict: Verdict;
}

/** What is counted exactly, for each operation of a task. */
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
  /** More is a failure, however little. */
  readonly change: "none" | "less" | "more";
}

export interface TaskComparison {
  /** As on the command line: "put-memory". */
  readonly task: string;
  readonly title: string;
  /** What its times are: CPU time of the process, or time that passed. */
  readonly bound: "cpu" | "io";
  /** The second is there where the first found it slower. */
  readonly attempts: readonly Attempt[];
  /** Of the last attempt. */
  readonly verdict: Verdict;
  readonly counters: readonly Counter[];
  /** Neither slower twice, nor more of anything that is counted. */
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
  /** As it was asked for: "main". */
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
  /** Gives the order of the processes and the resamples. */
  readonly seed: number;
  readonly tasks: readonly TaskComparison[];
  readonly skipped: readonly SkippedTask[];
  /** One line for each reason why the gate fails; none where it passes. */
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

/** The published schema of comparisons; as JSON Schema by `z.toJSONSchema`. */
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
