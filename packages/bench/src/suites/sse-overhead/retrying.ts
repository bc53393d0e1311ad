import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "@idk/storage";
import type { Random } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";

export interface Retrying {
  /**
   * Runs work and retries it after transient errors.
   *
   * @returns its result, and the seconds of the successful attempt
   * @throws the error of the last attempt; the signal's reason
   */
  run<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly seconds: number }>;
  /** Number of retries so far. */
  count(): number;
}

const DELAY_MOST = 30_000;

/**
 * @param retries after the first attempt, 0 or more
 * @param baseDelayMs before the first retry, at most; doubles with each retry, up to 30 s
 * @param random of the delays, half of which is jitter
 */
export function retrying(
  retries: number,
  baseDelayMs: number,
  random: Random,
  { log, signal }: Pick<SuiteContext, "log" | "signal">,
): Retrying {
  let count = 0;
  return {
    async run(work) {
      for (let attempt = 0; ; attempt++) {
        const start = performance.now();
        try {
          const result = await work();
          return { result, seconds: (performance.now() - start) / 1000 };
        } catch (error) {
          if (attempt === retries || !isTransient(error) || signal.aborted) throw error;
          const delay = Math.min(DELAY_MOST, baseDelayMs * 2 ** attempt) * (1 - random() / 2);
          // A server that asks for a longer wait would reject an earlier attempt.
          const asked = error instanceof StorageError ? (error.retryAfterMs ?? 0) : 0;
          const wait = Math.max(delay, asked);
          count += 1;
          log(`retrying in ${Math.round(wait)} ms: ${error.message}`);
          await sleep(wait, undefined, { signal });
        }
      }
    },
    count: () => count,
  };
}

/** Of the library's requests, or of bare ones. */
function isTransient(error: unknown): error is Error {
  if (error instanceof StorageError) return error.transient;
  return error instanceof Error && / failed with (?:429|5\d\d):/u.test(error.message);
}
