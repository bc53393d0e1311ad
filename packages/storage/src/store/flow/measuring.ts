import type { Backend } from "../../backend/backend.ts";
import type { Controller } from "./controller.ts";
import { wrapBackend } from "../../backend/wrap.ts";

/** Measures calls, and their retries, to decide how many are in flight. */
export interface Measuring {
  /** @param bytesOf what the call has transferred */
  measure<T>(call: () => Promise<T>, bytesOf: (result: T) => number): Promise<T>;
  /** An attempt failed, and there will be another one. */
  retry(): void;
}

/** What items are written with. */
export interface Writing {
  readonly backend: Backend;
  /** Measures each blob; see `storeBlob`. */
  readonly measuring: Measuring;
}

/** @param now milliseconds, monotonic */
export function measuringFor(controller: Controller, now: () => number): Measuring {
  return {
    retry: controller.retry,
    async measure(call, bytesOf) {
      const running = controller.start(now());
      let bytes: number | undefined;
      try {
        const result = await call();
        bytes = bytesOf(result);
        return result;
      } finally {
        running.end(now(), bytes);
      }
    },
  };
}

/**
 * The backend with its reads of bytes measured: how long they take, and whether they are retried.
 *
 * @param bytesOfRange what a read of a part counts as; by default nothing, because it does not show how long
 *   the blobs are that are read as a whole
 */
export function measuredReads(
  backend: Backend,
  { measure, retry: onRetry }: Measuring,
  bytesOfRange: (length: number) => number = () => 0,
): Backend {
  return wrapBackend(backend, {
    get: (get) => (name, buffer, given) =>
      measure(
        () => get(name, buffer, { ...given, onRetry }),
        (length) => length,
      ),
    getRange: (get) => (name, offset, buffer, given) =>
      measure(() => get(name, offset, buffer, { ...given, onRetry }), bytesOfRange),
  });
}
