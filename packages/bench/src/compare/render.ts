/** Comparisons as a terminal table and as Markdown, and what is wrong with them. */
import { markdownTable } from "markdown-table";
import { drawGrid, plain } from "../report/draw.ts";
import { counted } from "../report/units.ts";
import {
  COUNTER_WORDS,
  type Comparison,
  type Counter,
  type Estimate,
  QUANTITIES,
  QUANTITY_WORDS,
  type TaskComparison,
  estimatesOf,
  isWorse,
} from "./comparison.ts";
import { LIMITS } from "./decide.ts";

/** Formats a logarithmic ratio as a relative change: +4.9 % for ln(head / base) = 0.048. */
export function percent(ratio: number): string {
  const value = Math.expm1(ratio) * 100;
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)} %`;
}

/** "HEAD requests 1 → 2" */
function counterChange({ name, base, head }: Counter): string {
  return `${COUNTER_WORDS[name]} ${amount(base)} → ${amount(head)}`;
}

function amount(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 2 });
}

/** "+0.2 % ± 1.3 %" */
export function difference({ ratio, interval: { low, high } }: Estimate): string {
  const half = (high - low) / 2;
  return `${percent(ratio)} ± ${half > 5 ? "?" : `${(Math.expm1(half) * 100).toFixed(1)} %`}`;
}

/**
 * Why the gate fails, and what it warns of, one line each.
 *
 * @param strict whether an inconclusive CPU time fails
 */
export function problemsOf(
  tasks: readonly TaskComparison[],
  strict: boolean,
): Pick<Comparison, "failures" | "warnings"> {
  const failures: string[] = [];
  const warnings: string[] = [];
  for (const task of tasks) {
    for (const estimate of estimatesOf(task)) {
      const { quantity, verdict, interval } = estimate;
      const what = `${task.task}: ${QUANTITY_WORDS[quantity]} ${difference(estimate)}`;
      if (verdict === "worse") {
        failures.push(
          `${what}, worse in both measurements; at least ${percent(interval.low)} with 99 % ` +
            `confidence, tolerance ${percent(LIMITS[quantity].tolerance)}`,
        );
      } else if (verdict === "inconclusive") {
        (strict && quantity === "cpu" ? failures : warnings).push(`${what}, inconclusive`);
      }
    }
    for (const counter of task.counters.filter(isWorse)) {
      const per = counter.name === "threads" ? "" : " per operation";
      failures.push(`${task.task}: ${counterChange(counter)}${per}`);
    }
  }
  return { failures, warnings };
}

/** The outcome in one line. */
export function summaryOf({ base, head, tasks, failures, warnings }: Comparison): string {
  const names = `${head.name} (${head.commit.slice(0, 12)}) against ${base.name} (${base.commit.slice(0, 12)})`;
  const found = failures.length === 0 ? "no regression" : counted(failures.length, "regression");
  const unclear = warnings.length === 0 ? "" : `, ${warnings.length} inconclusive`;
  return `${names}: ${found} in ${counted(tasks.length, "task")}${unclear}`;
}

/** Columns of the table, which has one row per task. */
const COLUMNS: readonly string[] = [
  "Task",
  "Operation",
  "CPU time",
  "Elapsed",
  "Peak memory",
  "Pairs",
  "Counters",
];

function rowOf(task: TaskComparison): string[] {
  const cells = estimatesOf(task).map((estimate) =>
    estimate.verdict === "same"
      ? difference(estimate)
      : `${difference(estimate)} ${estimate.verdict}`,
  );
  const changed = task.counters.filter(({ change }) => change !== "none");
  return [
    task.task,
    task.title,
    ...cells,
    task.attempts.map(({ pairs }) => pairs.length).join(" + "),
    changed.length === 0 ? "same" : changed.map(counterChange).join("; "),
  ];
}

const limits = (name: "tolerance" | "mustFind"): string[] =>
  QUANTITIES.map(
    (quantity) => `${Number((Math.expm1(LIMITS[quantity][name]) * 100).toFixed(1))} %`,
  );
const [tolerated, found] = [limits("tolerance"), limits("mustFind")];

/** The legend of the table. */
const EXPLANATION: string =
  "Changes from base to head, over pairs of processes whose batches alternate, with 99 % intervals; same " +
  `unless noted. Worse: the whole interval is above ${tolerated[0]} of CPU time, ${tolerated[1]} of ` +
  `elapsed time or ${tolerated[2]} of peak memory, twice. Same: it ends below ${found[0]}, ${found[1]} ` +
  `and ${found[2]}. Between the two, after all pairs, its middle decides, unless it is too wide: ` +
  "inconclusive. Counters must not grow at all, and threads not become fewer.";

/** The width of the legend. */
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
    ...comparison.warnings.map((warning) => `warning: ${warning}`),
    ...comparison.failures.map((failure) => `FAILED: ${failure}`),
    summaryOf(comparison),
  ];
}

/** A comparison in Markdown, for a CI job summary or a comment. */
export function comparisonMarkdown(comparison: Comparison): string {
  const { failures, warnings, skipped, tasks, seed, seconds, rtt } = comparison;
  const mark = failures.length > 0 ? "❌" : warnings.length > 0 ? "⚠️" : "✅";
  const items = [
    ...failures.map((failure) => `- **${escaped(failure)}**`),
    ...warnings.map((warning) => `- ${escaped(warning)}`),
    ...skipped.map(({ task, reason }) => `- skipped: ${escaped(task)}, ${escaped(reason)}`),
  ];
  const far = rtt === undefined ? "" : ` Round trip to the store: ${rtt} ms more.`;
  const lines = [
    `### ${mark} ${escaped(summaryOf(comparison))}`,
    "",
    ...items,
    ...(items.length > 0 ? [""] : []),
    markdownTable([COLUMNS, ...tasks.map((task) => rowOf(task).map(escaped))]),
    "",
    `${EXPLANATION}${far} Seed ${seed}, ${Math.round(seconds)} s.`,
    "",
  ];
  return lines.join("\n");
}

/** Branch names are untrusted text and may contain Markdown. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/gu, String.raw`\$&`);
}
