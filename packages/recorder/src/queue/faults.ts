import { isThenable } from "../is-thenable.ts";

/** Counts faults, and reports them at most once a second. Never throws. */
export interface Faults {
  count(): number;
  /**
   * @param message contains nothing of an exchange
   * @param cause neither does this
   */
  report(message: string, cause?: unknown): void;
}

const INTERVAL_MS = 1000;

export function createFaults(onError: ((error: Error) => void) | undefined): Faults {
  let count = 0;
  let reportedAt = -Infinity;
  return {
    count: () => count,
    report(message, cause) {
      count += 1;
      const now = performance.now();
      if (onError === undefined || now - reportedAt < INTERVAL_MS) return;
      reportedAt = now;
      try {
        const error = new Error(message, cause === undefined ? undefined : { cause });
        const result: unknown = onError(error);
        // A rejection that nobody handles would end the application.
        if (isThenable(result)) result.then(undefined, () => {});
      } catch {
        // The application's own handler failed; there is nobody left to tell.
      }
    },
  };
}
