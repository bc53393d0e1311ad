/** Comparisons as a terminal table and as Markdown, and the reasons of a failure. */
import { markdownTable } from "markdown-table";
import { drawGrid, plain } from "../report/draw.ts";
import { counted } from "../report/units.ts";
import {
  type Attempt,
  type Comparison,
  type Counter,
  type TaskComparison,
  lastAttempt,
} from "./comparison.ts";

/** Formats a logarithmic ratio as a relative change: +4.9 % for ln(head / base) = 0.048. */
export function percent(ratio: number): string {
  const value = (Math.exp(ratio) - 1) * 100;
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)} %`;
}

/** "+0.2 % (−1.0 % to +1.4 %)" */
export function difference({ median, interval }: Attempt): string {
  return `${percent(median)} (${percent(interval.low)} to ${percent(interval.high)})`;
}

const COUNTER_WORDS: Readonly<Record<Counter["name"], string>> = {
  requests: "requests",
  bytesSent: "bytes sent",
  bytesReceived: "bytes received",
  bytesHashed: "bytes hashed",
  storedOverhead: "bytes stored beyond the content",
};

/** "requests 1 → 2" */
function counterChange({ name, base, head }: Counter): string {
  return `${COUNTER_WORDS[name]} ${amount(base)} → ${amount(head)}`;
}

function amount(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}

/** Why the gate fails, one line each; empty if it passes. */
export function failuresOf(tasks: readonly TaskComparison[]): string[] {
  return tasks.flatMap((task) => {
    const { interval, tolerance, median } = lastAttempt(task);
    const more = task.counters
      .filter(({ change }) => change === "more")
      .map((counter) => `${task.task}: ${counterChange(counter)} per operation`);
    if (task.verdict !== "slower") return more;
    const slower =
      `${task.task}: ${percent(median)} in time, slower in both measurements; ` +
      `at least ${percent(interval.low)} with 99 % confidence, tolerance ${percent(tolerance)}`;
    return [slower, ...more];
  });
}

/** The outcome in one line. */
export function summaryOf({ base, head, failures, tasks }: Comparison): string {
  const names = `${head.name} (${head.commit.slice(0, 12)}) against ${base.name} (${base.commit.slice(0, 12)})`;
  const outcome =
    failures.length === 0
      ? `no regression in ${counted(tasks.length, "task")}`
      : counted(failures.length, "regression");
  return `${names}: ${outcome}`;
}

/** Columns of the table, which has one row per task. */
const COLUMNS: readonly string[] = [
  "Task",
  "Operation",
  "Time",
  "Head against base",
  "Tolerance",
  "Verdict",
  "Counters",
];

function rowOf(task: TaskComparison): string[] {
  const last = lastAttempt(task);
  const changed = task.counters.filter(({ change }) => change !== "none");
  return [
    task.task,
    task.title,
    task.bound === "cpu" ? "CPU" : "elapsed",
    difference(last),
    percent(last.tolerance),
    `${task.verdict}${task.attempts.length > 1 ? ", measured twice" : ""}`,
    changed.length === 0 ? "unchanged" : changed.map(counterChange).join("; "),
  ];
}

/** The legend of the table. */
const EXPLANATION: string =
  "Medians over rounds of fresh processes in random order, with 99 % bootstrap intervals. A task is " +
  "slower if its whole interval is above the tolerance: 5 % of CPU time or 15 % of elapsed time, or " +
  "twice the noise between two runs of the base, if that is more. Counters must not grow at all.";

/** The width of the table. */
const WIDTH = 95;

/** The lines of a comparison for a terminal, without the column that describes the operations. */
export function comparisonLines(comparison: Comparison): string[] {
  const narrow = (row: readonly string[]) => row.filter((_, i) => COLUMNS[i] !== "Operation");
  const head = narrow(COLUMNS);
  const rows = comparison.tasks.map((task) => narrow(rowOf(task)));
  return [
    ...drawGrid({ head, align: head.map(() => "left" as const), rows }, plain).split("\n"),
    "",
    ...comparison.skipped.map(({ task, reason }) => `skipped: ${task}, ${reason}`),
    ...Bun.wrapAnsi(EXPLANATION, WIDTH).split("\n"),
    "",
    ...comparison.failures.map((failure) => `FAILED: ${failure}`),
    summaryOf(comparison),
  ];
}

/** A comparison in Markdown, for a CI job summary or a comment. */
export function comparisonMarkdown(comparison: Comparison): string {
  const { failures, skipped, tasks, seed, seconds } = comparison;
  const lines = [
    `### ${failures.length === 0 ? "✅" : "❌"} ${escaped(summaryOf(comparison))}`,
    "",
    ...failures.map((failure) => `- **${escaped(failure)}**`),
    ...(failures.length > 0 ? [""] : []),
    markdownTable([COLUMNS, ...tasks.map((task) => rowOf(task).map(escaped))]),
    "",
    ...skipped.map(({ task, reason }) => `- skipped: ${escaped(task)}, ${escaped(reason)}`),
    ...(skipped.length > 0 ? [""] : []),
    `${EXPLANATION} Seed ${seed}, ${Math.round(seconds)} s.`,
    "",
  ];
  return lines.join("\n");
}

/** Branch names are untrusted text and may contain Markdown. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/gu, String.raw`\$&`);
}
