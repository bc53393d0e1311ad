import type { Backend } from "../../backend/backend.ts";
import { CALLS_MAX, type Controller, createController } from "./controller.ts";
import { type BlobGate, type Gate, createBlobGate, createGate } from "./gate.ts";
import { type MemoryBudget, leafMemory, partOf } from "./budget.ts";
import { type Measuring, type Writing, measuredReads, measuringFor } from "./measuring.ts";
import { CALL_MEMORY, type WindowLimits, createWindow } from "./window.ts";
import { boundedUploads } from "./uploads.ts";
import { ROOT_BLOB_MAX } from "../../format/limits.ts";
import { CHUNKS_AT_ONCE, ITEMS_AT_ONCE } from "../check-options.ts";
import { inTurn } from "../../queue.ts";
import pLimit from "p-limit";
import { pMapIterable } from "p-map";

/**
 * Runs pipelines that transfer the same kind of blob in the same direction.
 *
 * @typeParam Tool what an item's work has to use for what it transfers: that is what is measured
 */
export interface Flow<Tool = Backend> {
  /** How many items may be in flight now, in the call that has most; the caller may have set less. */
  width(): number;
  /**
   * Maps items concurrently, as `pMapIterable` does, with as many in flight as transfer fastest; see
   * `createController`. What one call has learned, the next one begins with. Calls at the same time
   * learn on their own.
   *
   * An item is in flight from when it is pulled until its result is pulled.
   */
  map<T, R>(
    items: AsyncIterable<T>,
    work: (item: T, tool: Tool) => Promise<R>,
    options: FlowOptions,
  ): AsyncGenerator<R>;
}

export interface FlowOptions extends WindowLimits {
  /** Ends a wait for other items. The items' own work has to be ended by the caller. */
  readonly signal: AbortSignal | undefined;
  /** By default true. */
  readonly preserveOrder?: boolean | undefined;
}

/** A controller, and what makes the calls that it controls. */
interface Lane<Tool> {
  readonly controller: Controller;
  readonly tool: Tool;
}

/** How to end a call whose results nobody can take any more. It must not refer to them. */
interface Ending {
  end: () => void;
}

/** Not made by a call, whose content it would keep until its results are collected. */
function nothing(): void {}

/** Calls that were neither consumed nor left: what waits for them in a budget would keep them for good. */
const abandoned = new FinalizationRegistry<Ending>(({ end }) => end());

/** The pipelines of a store, which learn how many chunks or roots transfer fastest. */
export interface Flows {
  readonly readLeaves: Flow;
  readonly readRoots: Flow;
  /** Each blob is measured as a whole; see `storeBlob`. */
  readonly writeLeaves: Flow<Measuring>;
  /** With a bound on their bytes; see `boundedUploads`. */
  readonly writeRoots: Flow<Writing>;
  /** Of requests that transfer next to nothing. */
  readonly requests: Flow<Measuring>;
  /** To requests that callers make one by one. */
  readonly singleRequests: Gate<Measuring>;
  /** To roots that callers read one by one. */
  readonly singleRoots: Gate;
  /** To blobs of any kind that are fetched as a whole. */
  readonly wholeBlobs: BlobGate;
}

/**
 * @param budget for all of them: half of it for roots, so that the chunks below them can go on
 * @param most whole blobs, single roots and single requests in flight at once
 */
export function createFlows(
  backend: Backend,
  budget: MemoryBudget,
  most: number = CALLS_MAX,
): Flows {
  const half = partOf(budget, budget.bytes / 2);
  const toolOf = (measuring: Measuring) => measuredReads(backend, measuring);
  const roots = createGate(toolOf, budget, CHUNKS_AT_ONCE, {
    most,
    itemBytes: leafMemory(ROOT_BLOB_MAX),
    varies: true,
  });
  const blobs = createBlobGate(toolOf, budget, most);
  const asIs = (measuring: Measuring) => measuring;
  const writing = (measuring: Measuring) => ({ backend: boundedUploads(backend), measuring });
  const requests = createGate(asIs, budget, CHUNKS_AT_ONCE, {
    most,
    itemBytes: CALL_MEMORY,
  });
  // Each gate measures on its own, but the caller has set one number.
  const together = pLimit(most);
  const oneOfAll = <Tool>(gate: Gate<Tool>): Gate<Tool> => ({
    ...gate,
    pass: (work, options) =>
      gate.pass((tool) => inTurn(together, () => work(tool), options.signal), options),
  });
  return {
    readLeaves: createFlow(backend, budget, CHUNKS_AT_ONCE),
    writeLeaves: createMeasuredFlow(asIs, budget, CHUNKS_AT_ONCE),
    readRoots: createFlow(backend, half, ITEMS_AT_ONCE),
    writeRoots: createMeasuredFlow(writing, half, ITEMS_AT_ONCE),
    requests: createMeasuredFlow(asIs, half, CHUNKS_AT_ONCE),
    singleRequests: oneOfAll(requests),
    singleRoots: oneOfAll(roots),
    wholeBlobs: {
      ...blobs,
      pass: (work, options) =>
        blobs.pass(
          (tool, size) => inTurn(together, () => work(tool, size), options.signal),
          options,
        ),
    },
  };
}

/** A flow that measures the reads of a backend; see `createMeasuredFlow`. */
export function createFlow(
  backend: Backend,
  budget: MemoryBudget,
  first: number,
  now?: () => number,
): Flow {
  return createMeasuredFlow((measuring) => measuredReads(backend, measuring), budget, first, now);
}

/**
 * @param toolOf makes what transfers something, for each of the calls at the same time
 * @param first how many items are in flight at first
 * @param now milliseconds, monotonic
 */
export function createMeasuredFlow<Tool>(
  toolOf: (measuring: Measuring) => Tool,
  budget: MemoryBudget,
  first: number,
  now: () => number = () => performance.now(),
): Flow<Tool> {
  const lanes = new Set<Lane<Tool>>();
  const idle: Lane<Tool>[] = [];

  const newLane = (): Lane<Tool> => {
    const controller = createController(first);
    const lane = { controller, tool: toolOf(measuringFor(controller, now)) };
    lanes.add(lane);
    return lane;
  };

  async function* run<T, R>(
    items: AsyncIterable<T>,
    work: (item: T, tool: Tool) => Promise<R>,
    { preserveOrder = true, ...options }: FlowOptions,
    ending: Ending,
  ): AsyncGenerator<R> {
    const { most, signal } = options;
    const lane = idle.pop() ?? newLane();
    const { controller } = lane;
    const window = createWindow({ ...options, controller, budget });
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      ending.end = nothing;
      signal?.removeEventListener("abort", end);
      window.close();
      idle.push(lane);
    };
    // A consumer that has stopped may neither take the next result nor leave the loop.
    signal?.addEventListener("abort", end);
    ending.end = end;

    async function* pull(): AsyncGenerator<T> {
      const iterator = items[Symbol.asyncIterator]();
      let left = true;
      try {
        while ((await window.enter()) !== undefined) {
          const next = await iterator.next();
          if (next.done === true) {
            left = false;
            window.leave();
            return;
          }
          yield next.value;
        }
      } finally {
        if (left) await iterator.return?.();
      }
    }
    const results = pMapIterable(pull(), (item) => work(item, lane.tool), {
      // The window is what bounds them.
      concurrency: most,
      preserveOrder,
      // p-map's result type only adds promises, which a result here never is.
    }) as AsyncIterable<R>;
    try {
      for await (const result of results) {
        window.leave();
        yield result;
      }
    } finally {
      end();
    }
  }
  return {
    map(items, work, options) {
      const ending: Ending = { end: nothing };
      const results = run(items, work, options, ending);
      abandoned.register(results, ending);
      return results;
    },
    width: () => Math.max(first, ...Array.from(lanes, ({ controller }) => controller.limit())),
  };
}
