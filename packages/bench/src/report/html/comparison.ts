import { type Comparison, type Quantity, estimatesOf } from "../../compare/comparison.ts";
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

const QUANTITY: Readonly<Record<Quantity, string>> = {
  cpu: "CPU time",
  elapsed: "elapsed time",
  memory: "peak memory",
};

export function changesOf({ tasks }: Comparison): Change[] {
  return tasks.flatMap((task) =>
    estimatesOf(task).map((estimate) => ({
      ...estimate,
      task: task.task,
      quantity: QUANTITY[estimate.quantity],
    })),
  );
}
