import { type Comparison, lastAttempt } from "../../compare/comparison.ts";
import type { Interval } from "../report.ts";

/** What the page shows of one quantity of one task; ratios are natural logarithms of head over base. */
export interface Change {
  readonly task: string;
  /** Such as "CPU time". */
  readonly quantity: string;
  readonly ratio: number;
  readonly interval: Interval;
  readonly verdict: "better" | "same" | "worse" | "inconclusive";
}

const VERDICTS = {
  slower: "worse",
  faster: "better",
  same: "same",
  inconclusive: "inconclusive",
} as const;

export function changesOf({ tasks }: Comparison): Change[] {
  return tasks.map((task) => {
    const { median, interval } = lastAttempt(task);
    const quantity = task.bound === "cpu" ? "CPU time" : "elapsed time";
    const verdict = VERDICTS[task.verdict];
    return { task: task.task, quantity, ratio: median, interval, verdict };
  });
}
