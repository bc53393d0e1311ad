import type { Call } from "./checker/linearizable.ts";
import type { Operation } from "./checker/model.ts";

/** What clients did, as it happened. */
export interface History {
  /** The time, for `add`. */
  now(): number;
  /** Adds a request that has ended. One without an answer may take effect until `settle`. */
  add(start: number, operation: Operation): void;
  /** What has no answer so far has taken effect, or never will: what served it is dead, or has recovered. */
  settle(): void;
  /** All requests, settled. */
  calls(): readonly Call<Operation>[];
}

export function createHistory(): History {
  const settled: Call<Operation>[] = [];
  let open: Call<Operation>[] = [];
  const now = (): number => performance.now();
  return {
    now,
    add(start, operation) {
      if (isUnknown(operation)) open.push({ operation, start, end: Number.POSITIVE_INFINITY });
      else settled.push({ operation, start, end: now() });
    },
    settle() {
      const end = now();
      for (const { operation, start } of open) settled.push({ operation, start, end });
      open = [];
    },
    calls: () => [...settled, ...open],
  };
}

/** Whether nobody knows if a write took effect. */
export function isUnknown(operation: Operation): boolean {
  return "outcome" in operation && operation.outcome === "unknown";
}
