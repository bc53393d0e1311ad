import { throwIfAborted, untilAborted } from "../../abort.ts";
import { CALLS_MIN, type Controller } from "./controller.ts";
import type { MemoryBudget } from "./budget.ts";

/**
 * Which items of one pipeline may be in flight: a place for each, from its start to its consumer. If the
 * limit changes, the next place given back shows it.
 */
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
  /** Gives all places back, and ends a wait. */
  close(): void;
}

/** What bounds the items in flight, besides what is measured. */
export interface WindowLimits {
  /** The most items in flight, 1 or more. */
  readonly most: number;
  /** Bytes of memory for an item. */
  readonly itemBytes: number;
  /** Whether these are the most that an item can take, and most take less; by default false. */
  readonly varies?: boolean | undefined;
}

export interface WindowOptions extends WindowLimits {
  readonly controller: Pick<Controller, "limit" | "largest">;
  readonly budget: MemoryBudget;
  readonly signal: AbortSignal | undefined;
}

/** What a call takes besides its bytes. */
export const CALL_MEMORY: number = 64 * 2 ** 10;

/**
 * Bytes of memory for an item of unknown size: its bytes, sealed and not, each with a copy. They are
 * taken to be those of the largest until now.
 */
function memoryOf(most: number, largest: number): number {
  return Math.min(most, CALL_MEMORY + 4 * largest);
}

/**
 * A window as wide as the controller allows, as long as there is memory. The first two places need
 * none, so that no pipeline waits for memory that it holds itself, or that a caller holds who waits
 * for this one.
 */
export function createWindow(options: WindowOptions): Window {
  const { controller, budget, most, itemBytes, varies = false, signal } = options;
  let held = 0;
  let heldBytes = 0;
  let isClosed = false;
  let pending: (() => void) | undefined;

  const tryEnter = (): boolean => {
    if (held >= Math.min(most, controller.limit())) return false;
    const bytes = varies ? memoryOf(itemBytes, controller.largest()) : itemBytes;
    if (held < CALLS_MIN) budget.take(bytes);
    else if (!budget.tryTake(bytes)) return false;
    held += 1;
    heldBytes += bytes;
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
      // Which of them leaves is not told; over all, as much is given as was taken.
      const bytes = Math.floor(heldBytes / held);
      held -= 1;
      heldBytes -= bytes;
      budget.give(bytes);
      wake();
    },
    close() {
      isClosed = true;
      budget.give(heldBytes);
      [held, heldBytes] = [0, 0];
      wake();
    },
  };
}
