/*
 * The results of comparing two revisions: `--json` writes them, and tables, Markdown and HTML show them.
 * Times are in seconds, sizes in bytes, ratios are natural logarithms of head over base: 0 is no
 * difference, 0.05 about 5 % more, −0.05 about 5 % less.
 */
import { z } from "zod";
import { type Interval, type Machine, interval, machine } from "../report/report.ts";
import type { CounterName } from "./round/job.ts";

/** Changes when older readers would misread the comparison. */
export const COMPARISON_SCHEMA = "idk-bench-comparison/2";

/** CPU time of the process, elapsed time, and peak resident memory. */
export const QUANTITIES = ["cpu", "elapsed", "memory"] as const;
export type Quantity = (typeof QUANTITIES)[number];

export const QUANTITY_WORDS: Readonly<Record<Quantity, string>> = {
  cpu: "CPU time",
  elapsed: "elapsed time",
  memory: "peak memory",
};

/**
 * - `worse`: the whole interval is above the tolerance, in two measurements. The gate fails.
 * - `better`: the whole interval is below minus the tolerance.
 * - `same`: the interval ends below what must be found.
 * - `inconclusive`: neither, or the interval is too wide, after the last pair of processes.
 */
export type Verdict = "better" | "same" | "worse" | "inconclusive";

/** What one process of a pair took, per operation; one item per batch. */
export interface Side {
  readonly cpu: readonly number[];
  readonly elapsed: readonly number[];
  /** Peak resident memory during the batches. */
  readonly memory: number;
  /** The same from the start of the process, including its preparation. */
  readonly memoryInTotal: number;
}

/** Two processes alive at the same time, whose batches alternated in random order. */
export interface Pair {
  readonly base: Side;
  readonly head: Side;
}

/** One quantity, compared over all pairs. */
export interface Estimate {
  readonly quantity: Quantity;
  /** The mean over the pairs of the median of ln(head / base) of neighbouring batches. */
  readonly ratio: number;
  /** Its interval by Student's t, with pairs as the units that vary. */
  readonly interval: Interval;
  readonly verdict: Verdict;
}

/** One measurement of a task. */
export interface Attempt {
  readonly pairs: readonly Pair[];
  /** One for each quantity, in the order of `QUANTITIES`. */
  readonly estimates: readonly Estimate[];
}

export interface Counter {
  readonly name: CounterName;
  /** Exact, per operation; `threads` in total. */
  readonly base: number;
  readonly head: number;
  readonly change: "none" | "less" | "more";
}

export interface TaskComparison {
  /** The name on the command line: "put-memory". */
  readonly task: string;
  readonly title: string;
  /** There is a second attempt if the first was worse in a quantity. */
  readonly attempts: readonly Attempt[];
  /** Of both attempts: `worse` only if both are. */
  readonly verdicts: Readonly<Record<Quantity, Verdict>>;
  readonly counters: readonly Counter[];
  /** Neither worse in both attempts, nor with a counter that is. */
  readonly passed: boolean;
}

/** The estimates of the last attempt, with the verdicts of both. */
export function estimatesOf({ attempts, verdicts }: TaskComparison): Estimate[] {
  const { estimates } = attempts.at(-1)!;
  return estimates.map(({ quantity, ratio, interval }, i) => {
    return { quantity, ratio, interval, verdict: verdicts[QUANTITIES[i]!] };
  });
}

/** Whether the change fails the gate: any increase, and fewer threads. */
export function isWorse({ name, change }: Counter): boolean {
  return change === "more" || (name === "threads" && change === "less");
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
  /** Determines the order of batches. */
  readonly seed: number;
  /** The round trip to the store in milliseconds, if it was made longer. */
  readonly rtt?: number | undefined;
  readonly tasks: readonly TaskComparison[];
  readonly skipped: readonly SkippedTask[];
  /** Why the gate fails, one line each; empty if it passes. */
  readonly failures: readonly string[];
  /** What is inconclusive but does not fail the gate, one line each. */
  readonly warnings: readonly string[];
}

/** The words for counters, in the order of tables. */
export const COUNTER_WORDS: Readonly<Record<CounterName, string>> = {
  GET: "GET requests",
  PUT: "PUT requests",
  HEAD: "HEAD requests",
  POST: "POST requests",
  DELETE: "DELETE requests",
  bytesSent: "bytes sent",
  bytesReceived: "bytes received",
  bytesHashed: "bytes hashed",
  bytesSealed: "bytes sealed",
  storedOverhead: "bytes stored beyond content",
  threads: "threads",
};

export const COUNTERS: readonly CounterName[] = Object.keys(COUNTER_WORDS) as CounterName[];

const text = z.string().min(1);
const amounts = z.array(z.number().nonnegative()).min(1);
const count = z.number().nonnegative();
const verdict = z.enum(["better", "same", "worse", "inconclusive"]);

const pairSide: z.ZodType<Side> = z.strictObject({
  cpu: amounts,
  elapsed: amounts,
  memory: count,
  memoryInTotal: count,
});
const quantity = z.enum(QUANTITIES);
const attempt: z.ZodType<Attempt> = z.strictObject({
  pairs: z.array(z.strictObject({ base: pairSide, head: pairSide })).min(1),
  estimates: z
    .array(z.strictObject({ quantity, ratio: z.number(), interval, verdict }))
    .length(QUANTITIES.length),
});
const change = z.enum(["none", "less", "more"]);
const name = z.enum(COUNTERS);
const task: z.ZodType<TaskComparison> = z.strictObject({
  task: text,
  title: text,
  attempts: z.array(attempt).min(1).max(2),
  verdicts: z.strictObject({ cpu: verdict, elapsed: verdict, memory: verdict }),
  counters: z.array(z.strictObject({ name, base: count, head: count, change })),
  passed: z.boolean(),
});
const commit = z.string().regex(/^[0-9a-f]{40}$/u);
const revision: z.ZodType<Revision> = z.strictObject({ name: text, commit });

/** The published schema of comparisons. */
export const comparisonSchema: z.ZodType<Comparison> = z.strictObject({
  schema: z.literal(COMPARISON_SCHEMA),
  createdAt: z.iso.datetime(),
  seconds: count,
  machine,
  base: revision,
  head: revision,
  seed: z.number().int(),
  rtt: z.number().int().positive().optional(),
  tasks: z.array(task),
  skipped: z.array(z.strictObject({ task: text, reason: text })),
  failures: z.array(z.string()),
  warnings: z.array(z.string()),
});
