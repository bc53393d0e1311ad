/** How long an outcome is kept, in ms. */
export interface KeepTimes {
  readonly ok: number;
  readonly failed: number;
}

/**
 * A call that all callers share: one runs at a time, and its outcome is kept for a while. So whoever may
 * cause it cannot multiply what it costs.
 */
export function shared<T>(run: () => Promise<T>, keep: KeepTimes): () => Promise<T> {
  let current: Promise<T> | undefined;
  let until = Number.POSITIVE_INFINITY;
  return () => {
    if (current !== undefined && performance.now() < until) return current;
    const started = run();
    current = started;
    until = Number.POSITIVE_INFINITY;
    const ended = (ms: number): void => {
      until = performance.now() + ms;
    };
    started.then(
      () => ended(keep.ok),
      () => ended(keep.failed),
    );
    return started;
  };
}
