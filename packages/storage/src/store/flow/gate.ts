import { CALL_MEMORY, type WindowLimits, createWindow } from "./window.ts";
import { CHUNKS_AT_ONCE, LARGE_AT_ONCE, SHORT_BLOB } from "../check-options.ts";
import { type Measuring, measuringFor } from "./measuring.ts";
import { type MemoryBudget, leafMemory } from "./budget.ts";
import type { Backend } from "../../backend/backend.ts";
import { CHILD_BLOB_MAX } from "../../format/limits.ts";
import { createController } from "./controller.ts";
import pLimit from "p-limit";
import { untilAborted } from "../../abort.ts";

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

export interface PassOptions {
  /** Ends a wait. The work itself has to be ended by the caller. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes that it transfers, if they are known. */
  readonly size?: number | undefined;
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
      const entering = inOrder(() => window.enter(size));
      try {
        await untilAborted(entering, signal);
      } catch (error) {
        void entering.then(window.leave);
        throw error;
      }
      try {
        return await work(tool);
      } finally {
        window.leave(await entering);
      }
    },
  };
}

/**
 * A gate for blobs of any kind that are fetched as a whole. Short ones have a gate of their own, so that many
 * are in flight, also after a long one, which takes longer and more memory.
 *
 * @param most blobs in flight at once
 */
export function createBlobGate<Tool>(
  toolOf: (measuring: Measuring) => Tool,
  budget: MemoryBudget,
  most: number,
): Gate<Tool> {
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
    width: () => Math.max(short.width(), long.width()),
    pass: (work, options) => (isShort(options.size) ? short : long).pass(work, options),
  };
}

/** Whether a blob is short; one of unknown size is not. */
export function isShort(size: number | undefined): boolean {
  return size !== undefined && size <= SHORT_BLOB;
}
