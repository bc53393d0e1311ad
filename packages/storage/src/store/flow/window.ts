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
   * @param size bytes that the item transfers, if they are known: 0 or more
   * @param signal ends this wait; by default that of the window
   * @returns bytes of memory that were taken for it; undefined once the window is closed
   * @throws StorageError `aborted`; no place is taken then
   */
  enter(size?: number, signal?: AbortSignal): Promise<number | undefined>;
  /**
   * As `enter`, but does not wait. Not to be called while a call of `enter` waits.
   *
   * @returns undefined also if no place is free
   */
  tryEnter(size?: number): number | undefined;
  /**
   * Gives a place back.
   *
   * @param bytes that were taken for it; by default the mean of those that are in, for a pipeline, which
   *   is not told which of them leaves: over all, as much is given as was taken
   */
  leave(bytes?: number): void;
  /** Gives all places back, and ends a wait. */
  close(): void;
}

/** What bounds the items in flight, besides what is measured. */
export interface WindowLimits {
  /** The most items in flight, 1 or more. */
  readonly most: number;
  /** Bytes of memory for an item, at most: one of a known size may take less. */
  readonly itemBytes: number;
  /** Whether items of unknown size take as much as the largest until now; by default false. */
  readonly varies?: boolean | undefined;
}

export interface WindowOptions extends WindowLimits {
  readonly controller: Pick<Controller, "limit" | "largest">;
  readonly budget: MemoryBudget;
  readonly signal: AbortSignal | undefined;
}

/** What a call takes besides its bytes. */
export const CALL_MEMORY: number = 64 * 2 ** 10;

/** Bytes of memory for an item: its bytes, sealed and not, each with a copy. */
function memoryOf(most: number, size: number): number {
  return Math.min(most, CALL_MEMORY + 4 * size);
}

/**
 * A window as wide as the controller allows, as long as there is memory. The first two places need
 * none, so that no pipeline waits for memory that it holds itself, or that a caller holds who waits
 * for this one.
 */
export function createWindow(options: WindowOptions): Window {
  const { controller, budget, most, itemBytes, varies = false } = options;
  let held = 0;
  let heldBytes = 0;
  let isClosed = false;
  let pending: { size: number | undefined; resolve: (bytes?: number) => void } | undefined;

  /** An item of unknown size is taken to be as large as the largest until now. */
  const sizeOf = (size: number | undefined): number =>
    size ?? (varies ? controller.largest() : Infinity);
  const tryEnter = (size?: number): number | undefined => {
    if (isClosed || held >= Math.min(most, controller.limit())) return undefined;
    const bytes = memoryOf(itemBytes, sizeOf(size));
    if (held < CALLS_MIN) budget.take(bytes);
    else if (!budget.tryTake(bytes)) return undefined;
    held += 1;
    heldBytes += bytes;
    return bytes;
  };
  const wake = (): void => {
    if (pending === undefined) return;
    const bytes = tryEnter(pending.size);
    if (!isClosed && bytes === undefined) return;
    const { resolve } = pending;
    pending = undefined;
    budget.removeOnGiven(wake);
    resolve(bytes);
  };

  const leaveIfTaken = (bytes: number | undefined): void => {
    if (bytes !== undefined && !isClosed) leave(bytes);
  };
  const leave = (bytes = Math.floor(heldBytes / held)): void => {
    if (held === 0) return;
    held -= 1;
    heldBytes -= bytes;
    budget.give(bytes);
    wake();
  };

  return {
    async enter(size, signal = options.signal) {
      // Before anything else: a window that was closed by the abort is not at its end.
      throwIfAborted(signal);
      if (isClosed) return undefined;
      const bytes = tryEnter(size);
      if (bytes !== undefined) return bytes;
      const entered = new Promise<number | undefined>((resolve) => {
        pending = { size, resolve };
      });
      budget.onGiven(wake);
      let taken: number | undefined;
      try {
        taken = await untilAborted(entered, signal);
      } catch (error) {
        // It may have been given a place at the same moment.
        void entered.then(leaveIfTaken);
        throw error;
      } finally {
        pending = undefined;
        budget.removeOnGiven(wake);
      }
      if (isClosed) taken = undefined;
      if (signal?.aborted) leaveIfTaken(taken);
      throwIfAborted(signal);
      return taken;
    },
    tryEnter,
    leave,
    close() {
      isClosed = true;
      budget.give(heldBytes);
      [held, heldBytes] = [0, 0];
      wake();
    },
  };
}
