import { CALL_MEMORY, type WindowLimits, createWindow } from "./window.ts";
import { CHUNKS_AT_ONCE, LARGE_AT_ONCE, SHORT_BLOB } from "../check-options.ts";
import { type Measuring, measuringFor } from "./measuring.ts";
import { type MemoryBudget, leafMemory } from "./budget.ts";
import type { Backend } from "../../backend/backend.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import { createController } from "./controller.ts";
import { inTurn } from "../../queue.ts";
import { isTooLong } from "../../errors.ts";
import { throwIfAborted } from "../../abort.ts";
import pLimit from "p-limit";

/**
 * Lets as many calls in as transfer fastest, like `Flow`, for callers that make them one by one and at the
 * same time. The others wait, in order.
 *
 * @typeParam Tool what a call has to use for what it transfers: that is what is measured
 */
export interface Gate<Tool = Backend> {
  /** How many calls may be in flight now. */
  width(): number;
  /** @throws StorageError `aborted`, and what the work throws */
  pass<T>(work: (tool: Tool) => Promise<T>, options: PassOptions): Promise<T>;
}

/** Options of `pass`. */
export interface PassOptions {
  /** Ends a wait. The work itself has to be ended by the caller. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes that it transfers, if they are known: 0 or more. */
  readonly size?: number | undefined;
}

/** A gate for blobs of any kind that are fetched as a whole. */
export interface BlobGate<Tool = Backend> {
  /** How many long blobs may be in flight now. */
  width(): number;
  /**
   * @param work has memory for a blob of `size`, or of any size if that is undefined. If the blob turns out to
   *   be longer than listed, it has to fail with `limit`, and is then called again for any size
   * @param options with the size that a listing reported
   * @throws StorageError `aborted`, and what the work throws
   */
  pass<T>(
    work: (tool: Tool, size: number | undefined) => Promise<T>,
    options: PassOptions,
  ): Promise<T>;
}

/**
 * @param toolOf makes what transfers something
 * @param first how many calls are in flight at first
 */
export function createGate<Tool>(
  toolOf: (measuring: Measuring) => Tool,
  budget: MemoryBudget,
  first: number,
  limits: WindowLimits,
): Gate<Tool> {
  const controller = createController(first);
  const window = createWindow({ ...limits, controller, budget, signal: undefined });
  const tool = toolOf(measuringFor(controller, () => performance.now()));
  // A window lets in one after the other.
  const inOrder = pLimit(1);
  return {
    width: () => Math.min(limits.most, controller.limit()),
    async pass(work, { signal, size }) {
      throwIfAborted(signal);
      const bytes =
        (inOrder.activeCount === 0 ? window.tryEnter(size) : undefined) ??
        (await inTurn(inOrder, () => window.enter(size, signal), signal));
      try {
        return await work(tool);
      } finally {
        window.leave(bytes);
      }
    },
  };
}

/**
 * Short blobs have a gate of their own, so that many are in flight, also after a long one, which takes longer
 * and more memory; beside long ones, as many as there is memory left for, and two in any case.
 *
 * @param most blobs in flight at once in each of the two gates
 */
export function createBlobGate<Tool>(
  toolOf: (measuring: Measuring) => Tool,
  budget: MemoryBudget,
  most: number,
): BlobGate<Tool> {
  const short = createGate(toolOf, budget, CHUNKS_AT_ONCE, {
    most,
    itemBytes: CALL_MEMORY + 4 * SHORT_BLOB,
  });
  const long = createGate(toolOf, budget, CHUNKS_AT_ONCE, {
    most: Math.min(most, LARGE_AT_ONCE),
    itemBytes: leafMemory(CHILD_BLOB_MAX),
    varies: true,
  });
  return {
    width: long.width,
    async pass(work, { signal, size: listed }) {
      const size = isSize(listed) ? listed : undefined;
      const gate = isShort(size) ? short : long;
      try {
        return await gate.pass((tool) => work(tool, size), { signal, size });
      } catch (error) {
        if (size === undefined || !isTooLong(error)) throw error;
      }
      // Counted by the longest: a wrong listing must not decide how much memory is taken.
      return long.pass((tool) => work(tool, undefined), { signal, size: CHILD_BLOB_MAX });
    },
  };
}

/** Whether it is a number of bytes: listings come from outside. */
export function isSize(size: number | undefined): boolean {
  return Number.isSafeInteger(size) && size! >= 0;
}

/** Whether a blob is short; one of unknown size is not. */
export function isShort(size: number | undefined): boolean {
  return size !== undefined && size <= SHORT_BLOB;
}
