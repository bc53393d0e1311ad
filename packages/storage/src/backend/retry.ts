import { sleep, throwIfAborted } from "../abort.ts";
import { type ErrorCode, StorageError, usage } from "../errors.ts";
import type {
  Backend,
  CallOptions,
  ListedBlob,
  ListMarkersOptions,
  Marker,
  ReadCallOptions,
} from "./backend.ts";
import { wrapBackend } from "./wrap.ts";

/**
 * The backend calls that `withRetry` retries. A `getRange` is reported as `get`, a call for markers as
 * that for blobs, and `currentTime` as `head`.
 */
export type BackendCall = Extract<
  keyof Backend,
  "put" | "get" | "head" | "delete" | "list" | "capabilities"
>;

/** A failed call that is about to be retried. */
export interface Retry {
  readonly call: BackendCall | "initBucket";
  /** How many attempts have failed, from 1. */
  readonly attempt: number;
  /** The wait before the next attempt. */
  readonly delayMs: number;
  /** The failure of the last attempt. */
  readonly error: StorageError;
}

/** Options of `withRetry`. */
export interface RetryOptions {
  /**
   * The retry budget: for how long a call is retried, counted from its first attempt. By default
   * 60 s. It is a time rather than a number of attempts because outages last for a time.
   */
  readonly budgetMs?: number | undefined;
  /** The upper bound of the first delay; each further bound is twice as long. By default 250 ms. */
  readonly firstDelayMs?: number | undefined;
  /** The upper bound of all delays, unless the server requests a longer one. By default 20 s. */
  readonly maxDelayMs?: number | undefined;
  /**
   * The number of attempts that are made even if the budget is exhausted, because one attempt may
   * use all of it before it times out. By default 3.
   */
  readonly minAttempts?: number | undefined;
  /** Called before each delay. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/** The source of time and randomness; tests replace it. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** From 0 up to but not including 1. */
  random(): number;
  /** @throws StorageError `aborted` as soon as the signal fires */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep,
};

/** The retry schedule of one call. */
export interface RetrySchedule {
  /** Restarts the budget and the backoff, because the call has made progress. */
  restart(): void;
  /**
   * Waits until the next attempt is due.
   *
   * @throws the error itself if it is permanent or the budget is exhausted; StorageError `aborted`
   */
  afterFailure(error: unknown, given: CallOptions | undefined): Promise<void>;
}

/** Codes that no retry changes, even if the error is marked as transient. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set(["limit", "not-found", "permission", "aborted"]);

/** How often a server must report a blob as damaged. Waiting longer does not repair a disk. */
const DAMAGE_REPORTS = 2;

/**
 * Milliseconds between the reports, at least. A proxy that is restarted, or disks that are missing for
 * a moment, look like damage, too.
 */
const DAMAGE_DELAY_MS = 2000;

/** Timers with a longer delay fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Checks the options and returns a function that starts the schedule of one call: exponential
 * backoff with full jitter within the retry budget.
 *
 * @throws StorageError `usage`
 */
export function retrySchedules(
  options: RetryOptions,
  clock: Clock,
): (call: Retry["call"]) => RetrySchedule {
  const {
    budgetMs = 60_000,
    firstDelayMs = 250,
    maxDelayMs = 20_000,
    minAttempts = 3,
    onRetry,
  } = options;
  for (const [name, value] of Object.entries({ budgetMs, firstDelayMs, maxDelayMs })) {
    if (!(value >= 0)) throw usage(`${name} must be a number of milliseconds, 0 or more`);
  }
  if (!Number.isInteger(minAttempts) || minAttempts < 1) {
    throw usage("minAttempts must be an integer, 1 or more");
  }

  /**
   * Full jitter, so that clients that failed together do not retry together. A delay that the
   * server requests is a minimum that all clients share, so the jitter is added to it.
   */
  const delayAfter = (attempts: number, { code, retryAfterMs = 0 }: StorageError): number => {
    const bound = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempts - 1));
    const minimum = code === "address" ? Math.max(retryAfterMs, DAMAGE_DELAY_MS) : retryAfterMs;
    return Math.min(MAX_TIMER_MS, Math.ceil(minimum + clock.random() * bound));
  };

  return (call) => {
    let start = clock.now();
    let attempts = 0;
    let damageReports = 0;
    return {
      restart() {
        start = clock.now();
        attempts = 0;
      },
      async afterFailure(error, { signal, onRetry: tellCaller } = {}) {
        if (!isTransient(error)) throw error;
        throwIfAborted(signal);
        attempts += 1;
        if (error.code === "address") damageReports += 1;
        if (damageReports >= DAMAGE_REPORTS) throw error;
        // An attempt before the requested delay is bound to fail, and the delay exceeds the budget.
        if ((error.retryAfterMs ?? 0) > budgetMs) throw error;
        const delayMs = delayAfter(attempts, error);
        const elapsedMs = clock.now() - start + delayMs;
        if (attempts >= minAttempts && elapsedMs > budgetMs) throw error;
        onRetry?.({ call, attempt: attempts, delayMs, error });
        tellCaller?.();
        await clock.sleep(delayMs, signal);
      },
    };
  };
}

/** Runs attempts until one succeeds or the schedule ends. */
export async function retry<T>(
  schedule: RetrySchedule,
  attempt: () => Promise<T>,
  given: CallOptions | undefined,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await schedule.afterFailure(error, given);
    }
  }
}

function isTransient(error: unknown): error is StorageError {
  return error instanceof StorageError && error.transient && !PERMANENT.has(error.code);
}

/**
 * A backend that retries transient failures, with exponential backoff and full jitter, no earlier
 * than the server requests, until the retry budget is exhausted. A blob that the server reports as
 * damaged is read once more, after at least 2 s. The signal of a call ends its
 * attempts and its delays. Any other error passes through at once. An `optional` read gets
 * `minAttempts` attempts and no more time.
 *
 * A listing of markers continues behind the last one. A put of a marker that must not happen after
 * some time takes a signal that fires then, because retries may take as long as the budget.
 *
 * A listing of blobs that fails before its first one is restarted. After that it continues behind the last
 * blob if the backend has `listAfter`, and each blob restarts the budget. Without `listAfter` the
 * error passes through, because skipping the blobs already listed would take unbounded memory.
 *
 * Wrap `withLimit` in `withRetry` and not the reverse, so that a call that waits for its retry does
 * not occupy a slot.
 *
 * @throws StorageError `usage` if an option is invalid
 */
export function withRetry(
  backend: Backend,
  options: RetryOptions = {},
  clock: Clock = systemClock,
): Backend {
  const startSchedule = retrySchedules(options, clock);
  const startBriefSchedule = retrySchedules({ ...options, budgetMs: 0 }, clock);

  const retrying = <T>(
    call: BackendCall,
    attempt: () => Promise<T>,
    given: CallOptions | undefined,
  ): Promise<T> => retry(startSchedule(call), attempt, given);
  const reading = <T>(
    attempt: () => Promise<T>,
    given: ReadCallOptions | undefined,
  ): Promise<T> => {
    const start = given?.optional === true ? startBriefSchedule : startSchedule;
    return retry(start("get"), attempt, given);
  };

  async function* list(
    prefix: string,
    after: string | undefined,
    given: CallOptions | undefined,
  ): AsyncGenerator<ListedBlob> {
    const schedule = startSchedule("list");
    let last = after;
    let yielded = false;
    for (;;) {
      try {
        for await (const blob of listFrom(backend, prefix, last, given)) {
          yielded = true;
          yield blob;
          last = blob.name;
          // Only after the yield, so that the consumer's own time does not count.
          schedule.restart();
        }
        return;
      } catch (error) {
        if (yielded && backend.listAfter === undefined) throw error;
        await schedule.afterFailure(error, given);
      }
    }
  }

  async function* listMarkers(
    prefix: string,
    given: ListMarkersOptions = {},
  ): AsyncGenerator<Marker> {
    const { signal } = given;
    const schedule = startSchedule("list");
    let { after, limit } = given;
    for (;;) {
      try {
        for await (const marker of backend.listMarkers!(prefix, { signal, after, limit })) {
          yield marker;
          after = marker.name;
          if (limit !== undefined) limit -= 1;
          if (limit === 0) return;
          schedule.restart();
        }
        return;
      } catch (error) {
        await schedule.afterFailure(error, given);
      }
    }
  }

  return wrapBackend(backend, {
    put: (put) => (name, bytes, given) => retrying("put", () => put(name, bytes, given), given),
    get: (get) => (name, buffer, given) => reading(() => get(name, buffer, given), given),
    getRange: (getRange) => (name, offset, buffer, given) =>
      reading(() => getRange(name, offset, buffer, given), given),
    head: (head) => (name, given) => retrying("head", () => head(name, given), given),
    delete: (remove) => (name, given) => retrying("delete", () => remove(name, given), given),
    list: () => (prefix, given) => list(prefix, undefined, given),
    listAfter: () => (prefix, after, given) => list(prefix, after, given),
    capabilities: (capabilities) => (given) =>
      retrying("capabilities", () => capabilities(given), given),
    putMarker: (putMarker) => (name, given) => retrying("put", () => putMarker(name, given), given),
    listMarkers: () => listMarkers,
    deleteMarker: (deleteMarker) => (name, given) =>
      retrying("delete", () => deleteMarker(name, given), given),
    currentTime: (currentTime) => (given) => retrying("head", () => currentTime(given), given),
  });
}

function listFrom(
  backend: Backend,
  prefix: string,
  after: string | undefined,
  given: CallOptions | undefined,
): AsyncIterable<ListedBlob> {
  return after === undefined || backend.listAfter === undefined
    ? backend.list(prefix, given)
    : backend.listAfter(prefix, after, given);
}
