/** How figures of a comparison are said, in tables and in the reasons of a failure. */
import { markdownTable } from "markdown-table";
import { drawGrid, plain } from "../report/draw.ts";
import {
  type Attempt,
  type Comparison,
  type Counter,
  type TaskComparison,
  lastAttempt,
} from "./comparison.ts";

/** A difference as people say it: +4.9 % for ln(head / base) = 0.048. */
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

/** Why the gate fails, a line each; none where it passes. */
export function failuresOf(tasks: readonly TaskComparison[]): string[] {
  return tasks.flatMap((task) => {
    const { interval, tolerance, median } = lastAttempt(task);
    const more = task.counters
      .filter(({ change }) => change === "more")
      .map((counter) => `${task.task}: ${counterChange(counter)} for each operation`);
    if (task.verdict !== "slower") return more;
    const slower =
      `${task.task}: ${percent(median)} in time, in both of two measurements; ` +
      `at least ${percent(interval.low)} with 99 % confidence, where ${percent(tolerance)} is tolerated`;
    return [slower, ...more];
  });
}

/** What can be said in one line. */
export function summaryOf({ base, head, failures, tasks }: Comparison): string {
  const names = `${head.name} (${head.commit.slice(0, 12)}) against ${base.name} (${base.commit.slice(0, 12)})`;
  const outcome =
    failures.length === 0
      ? `nothing got worse in ${tasks.length} tasks`
      : `${failures.length} ${failures.length === 1 ? "thing" : "things"} got worse`;
  return `${names}: ${outcome}`;
}

/** Rows of the table of a comparison: a task each. */
const COLUMNS: readonly string[] = [
  "Task",
  "What",
  "Time",
  "Head against base",
  "Tolerance",
  "Verdict",
  "Counted",
];

function rowOf(task: TaskComparison): string[] {
  const last = lastAttempt(task);
  const changed = task.counters.filter(({ change }) => change !== "none");
  return [
    task.task,
    task.title,
    task.bound === "cpu" ? "CPU" : "passed",
    difference(last),
    percent(last.tolerance),
    `${task.verdict}${task.attempts.length > 1 ? ", measured twice" : ""}`,
    changed.length === 0 ? "no change" : changed.map(counterChange).join("; "),
  ];
}

/** What the table does not explain by itself. */
const EXPLANATION: string =
  "Medians over rounds of fresh processes in random order, with their 99 % bootstrap intervals. " +
  "A task is slower where its whole interval lies above the tolerance: 5 % of CPU time or 15 % of " +
  "time passed, or twice what two runs of the base differ by here, if that is more. What is " +
  "counted may not grow at all.";

/** As narrow as the table is. */
const WIDTH = 95;

/** A comparison for a terminal, a line each. What the tasks are is in Markdown and on the page. */
export function comparisonLines(comparison: Comparison): string[] {
  const without = (row: readonly string[]) => row.filter((_, i) => COLUMNS[i] !== "What");
  const head = without(COLUMNS);
  const rows = comparison.tasks.map((task) => without(rowOf(task)));
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

/** A comparison for the summary of a job or a comment. */
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

/** Names of branches are others' text, and may hold what Markdown reads as its own. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/gu, String.raw`\$&`);
}
