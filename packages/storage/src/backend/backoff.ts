import { sleep, throwIfAborted } from "../abort.ts";
import { StorageError, usage } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import type { Backend } from "./backend.ts";

/** The calls of a backend that can be made again. */
export type BackendCall = Extract<
  keyof Backend,
  "put" | "get" | "head" | "delete" | "list" | "capabilities"
>;

/** A call that failed and is about to be made again. */
export interface Retry {
  readonly call: BackendCall | "initBucket";
  /** How often it has been made. */
  readonly attempt: number;
  /** The wait before the next attempt. */
  readonly delayMs: number;
  /** Why it failed. */
  readonly error: StorageError;
}

export interface RetryOptions {
  /**
   * Time in which a call may be made again, from its beginning; by default 60 s. Time rather than
   * a number of attempts: an outage is over after a while, not after so many refusals.
   */
  readonly budgetMs?: number | undefined;
  /** The longest first wait; each next one may be twice as long. By default 250 ms. */
  readonly firstDelayMs?: number | undefined;
  /** The longest of all waits, except where the store asks for more. By default 20 s. */
  readonly maxDelayMs?: number | undefined;
  /**
   * How often a call is made whatever the budget says, since a single attempt may take all of it
   * before it times out. By default 3.
   */
  readonly minAttempts?: number | undefined;
  /** Told before each wait. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/** Where time and chance come from. Tests have their own. */
export interface Clock {
  /** Milliseconds, never going back. */
  now(): number;
  /** At least 0, less than 1. */
  random(): number;
  /** @throws StorageError `aborted`, as soon as the signal fires */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep,
};

/** What is left of the willingness to make one call again. */
export interface Patience {
  /** Forgets all failures: the call has got further. */
  renew(): void;
  /**
   * Waits until the next attempt is due.
   *
   * @throws the error itself where another attempt makes no sense; StorageError `aborted`
   */
  afterFailure(error: unknown, signal: AbortSignal | undefined): Promise<void>;
}

/** Answers that stay the same, whatever else an error says. */
const FINAL: ReadonlySet<ErrorCode> = new Set(["limit", "not-found", "permission", "aborted"]);

/** Timers fire at once where they are asked for more. */
const SLEEP_MAX = 2 ** 31 - 1;

/** @throws StorageError `usage` */
export function patienceOf(options: RetryOptions, clock: Clock): (call: Retry["call"]) => Patience {
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
   * Full jitter: clients that failed together must not come back together. What the store asks
   * for is the least, and they would all keep to it, so the jitter goes on top.
   */
  const delayAfter = (attempts: number, { retryAfterMs = 0 }: StorageError): number => {
    const backoff = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempts - 1));
    return Math.min(SLEEP_MAX, Math.ceil(retryAfterMs + clock.random() * backoff));
  };

  return (call) => {
    let start = clock.now();
    let attempts = 0;
    return {
      renew() {
        start = clock.now();
        attempts = 0;
      },
      async afterFailure(error, signal) {
        if (!isTransient(error)) throw error;
        throwIfAborted(signal);
        attempts += 1;
        // Until then it can only fail: to ask earlier is rude, and to wait so long is no use.
        if ((error.retryAfterMs ?? 0) > budgetMs) throw error;
        const delayMs = delayAfter(attempts, error);
        const due = clock.now() - start + delayMs;
        if (attempts >= minAttempts && due > budgetMs) throw error;
        onRetry?.({ call, attempt: attempts, delayMs, error });
        await clock.sleep(delayMs, signal);
      },
    };
  };
}

/** Makes attempts until one succeeds, or the patience is over. */
export async function persist<T>(
  patience: Patience,
  attempt: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await patience.afterFailure(error, signal);
    }
  }
}

function isTransient(error: unknown): error is StorageError {
  return error instanceof StorageError && error.transient && !FINAL.has(error.code);
}
