import { type WindowLimits, createWindow } from "./window.ts";
import { measured, measuringFor } from "./measuring.ts";
import type { Backend } from "../../backend/backend.ts";
import type { MemoryBudget } from "./budget.ts";
import { createController } from "./controller.ts";
import pLimit from "p-limit";
import { untilAborted } from "../../abort.ts";

/**
 * Lets as many calls in as transfer fastest, like `Flow`, for callers that make them one by one and at the
 * same time. The others wait, in order.
 */
export interface Gate {
  /** How many calls may be in flight now. */
  width(): number;
  /**
   * @param work must use the given backend for what it transfers: that is what is measured
   * @param signal ends a wait. The work itself has to be ended by the caller
   * @throws StorageError `aborted`, and what the work throws
   */
  pass<T>(work: (backend: Backend) => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
}

/** @param first how many calls are in flight at first */
export function createGate(
  backend: Backend,
  budget: MemoryBudget,
  first: number,
  limits: WindowLimits,
): Gate {
  const controller = createController(first);
  const window = createWindow({ ...limits, controller, budget, signal: undefined });
  const through = measured(
    backend,
    measuringFor(controller, () => performance.now()),
  );
  // A window lets in one after the other.
  const inOrder = pLimit(1);
  return {
    width: () => Math.min(limits.most, controller.limit()),
    async pass(work, signal) {
      const entering = inOrder(() => window.enter());
      try {
        await untilAborted(entering, signal);
      } catch (error) {
        void entering.then(() => window.leave());
        throw error;
      }
      try {
        return await work(through);
      } finally {
        window.leave();
      }
    },
  };
}
