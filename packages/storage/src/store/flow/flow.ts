import type { Backend, CallOptions } from "../../backend/backend.ts";
import { type Controller, createController } from "./controller.ts";
import { type MemoryBudget, partOf } from "./budget.ts";
import { createWindow } from "./window.ts";
import { CHUNKS_AT_ONCE, ITEMS_AT_ONCE } from "../check-options.ts";
import { pMapIterable } from "p-map";
import { wrapBackend } from "../../backend/wrap.ts";

/** Runs the pipelines of a store that transfer the same kind of blob in the same direction. */
export interface Flow {
  /** How many items may be in flight now, in the call that has most; the caller may have set less. */
  width(): number;
  /**
   * Maps items concurrently, as `pMapIterable` does, with as many in flight as transfer fastest; see
   * `createController`. What one call has learned, the next one begins with. Calls at the same time
   * learn on their own.
   *
   * An item is in flight from when it is pulled until its result is pulled.
   *
   * @param work must use the given backend for what it transfers: that is what is measured
   */
  map<T, R>(
    items: AsyncIterable<T>,
    work: (item: T, backend: Backend) => Promise<R>,
    options: FlowOptions,
  ): AsyncGenerator<R>;
}

export interface FlowOptions {
  /** The most items in flight, 1 or more. */
  readonly most: number;
  /** Bytes of memory for an item, and whether they are the most; see `WindowOptions`. */
  readonly itemBytes: number;
  readonly varies?: boolean | undefined;
  /** Ends a wait for other items. The items' own work has to be ended by the caller. */
  readonly signal: AbortSignal | undefined;
  /** By default true. */
  readonly preserveOrder?: boolean | undefined;
}

/** A controller, and the backend whose calls it controls. */
interface Lane {
  readonly controller: Controller;
  readonly backend: Backend;
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
  readonly writeLeaves: Flow;
  readonly readRoots: Flow;
  readonly writeRoots: Flow;
}

/** @param budget for all of them: half of it for roots, so that the chunks below them can go on */
export function createFlows(backend: Backend, budget: MemoryBudget): Flows {
  const half = partOf(budget, budget.bytes / 2);
  return {
    readLeaves: createFlow(backend, budget, CHUNKS_AT_ONCE),
    writeLeaves: createFlow(backend, budget, CHUNKS_AT_ONCE),
    readRoots: createFlow(backend, half, ITEMS_AT_ONCE),
    writeRoots: createFlow(backend, half, ITEMS_AT_ONCE),
  };
}

/**
 * @param first how many items are in flight at first
 * @param now milliseconds, monotonic
 */
export function createFlow(
  backend: Backend,
  budget: MemoryBudget,
  first: number,
  now: () => number = () => performance.now(),
): Flow {
  const lanes = new Set<Lane>();
  const idle: Lane[] = [];

  const newLane = (): Lane => {
    const controller = createController(first);
    const lane = { controller, backend: measured(backend, controller, now) };
    lanes.add(lane);
    return lane;
  };

  async function* run<T, R>(
    items: AsyncIterable<T>,
    work: (item: T, backend: Backend) => Promise<R>,
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
        while (await window.enter()) {
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
    const results = pMapIterable(pull(), (item) => work(item, lane.backend), {
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

/** The backend with its gets and puts controlled: how long they take, and whether they are retried. */
function measured(backend: Backend, controller: Controller, now: () => number): Backend {
  const measure = async <T>(
    given: CallOptions | undefined,
    call: (options: CallOptions) => Promise<T>,
    bytesOf: (result: T) => number,
  ): Promise<T> => {
    const running = controller.start(now());
    let bytes: number | undefined;
    try {
      const result = await call({ ...given, onRetry: running.retry });
      bytes = bytesOf(result);
      return result;
    } finally {
      running.end(now(), bytes);
    }
  };
  return wrapBackend(backend, {
    put: (put) => (name, blob, given) =>
      measure(
        given,
        (options) => put(name, blob, options),
        () => blob.length,
      ),
    get: (get) => (name, buffer, given) =>
      measure(
        given,
        (options) => get(name, buffer, options),
        (length) => length,
      ),
  });
}
