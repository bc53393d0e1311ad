import { throwIfAborted, untilAborted } from "../../abort.ts";
import { CALLS_MIN, type Controller } from "./controller.ts";
import type { MemoryBudget } from "./budget.ts";

/** Which items of one pipeline may be in flight: a place for each, from its start to its consumer. */
export interface Window {
  /**
   * Waits for a place. One call at a time.
   *
   * @returns false once the window is closed
   * @throws StorageError `aborted`
   */
  enter(): Promise<boolean>;
  /** Gives a place back. */
  leave(): void;
  /** The limit may have changed. */
  wake(): void;
  /** Gives all places back, and ends a wait. */
  close(): void;
}

export interface WindowOptions {
  readonly controller: Pick<Controller, "limit">;
  readonly budget: MemoryBudget;
  /** The most items in flight, 1 or more. */
  readonly most: number;
  /** Bytes of memory for an item. */
  readonly itemBytes: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * A window as wide as the controller allows, as long as there is memory. The first two places need
 * none, so that no pipeline waits for memory that it holds itself, or that a caller holds who waits
 * for this one.
 */
export function createWindow(options: WindowOptions): Window {
  const { controller, budget, most, itemBytes, signal } = options;
  let held = 0;
  let isClosed = false;
  let pending: (() => void) | undefined;

  const tryEnter = (): boolean => {
    if (held >= Math.min(most, controller.limit())) return false;
    if (held < CALLS_MIN) budget.take(itemBytes);
    else if (!budget.tryTake(itemBytes)) return false;
    held += 1;
    return true;
  };
  const wake = (): void => {
    if (pending === undefined || !(isClosed || tryEnter())) return;
    const resolve = pending;
    pending = undefined;
    budget.removeOnGiven(wake);
    resolve();
  };

  return {
    wake,
    async enter() {
      // Before anything else: a window that was closed by the abort is not at its end.
      throwIfAborted(signal);
      if (isClosed) return false;
      if (tryEnter()) return true;
      const entered = new Promise<void>((resolve) => {
        pending = resolve;
      });
      budget.onGiven(wake);
      try {
        await untilAborted(entered, signal);
      } finally {
        pending = undefined;
        budget.removeOnGiven(wake);
      }
      throwIfAborted(signal);
      return !isClosed;
    },
    leave() {
      if (held === 0) return;
      held -= 1;
      budget.give(itemBytes);
      wake();
    },
    close() {
      isClosed = true;
      budget.give(held * itemBytes);
      held = 0;
      wake();
    },
  };
}
