import { StorageError } from "../../errors.ts";

/** A timeout that can be extended, combined with the caller's signal. */
export interface Deadline {
  /** Fires when the caller's signal fires or the time is up. */
  readonly signal: AbortSignal;
  /** The error to report if the time is up or `fail` was called. */
  readonly error: StorageError | undefined;
  /**
   * Sets the time left to this many milliseconds from now.
   *
   * @param failure what the server did if the time runs out, to follow its name
   */
  extend(ms: number, failure?: string): void;
  /** Ends the request at once with this error. */
  fail(error: StorageError): void;
  /** Cancels a request whose result is no longer needed. */
  cancel(): void;
  /** Stops the timer and detaches from the caller's signal. Must always be called. */
  end(): void;
}

/**
 * @param ms until the first `extend`
 * @param action what is being attempted, to follow "cannot"
 * @param server `HOST:PORT`, for messages
 */
export function startDeadline(
  signal: AbortSignal | undefined,
  ms: number,
  action: string,
  server: string,
): Deadline {
  // Not AbortSignal.any: one signal may outlive thousands of requests, each of which detaches here.
  const controller = new AbortController();
  const cancel = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  let ended: StorageError | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const fail = (error: StorageError): void => {
    ended = error;
    controller.abort(error);
  };
  const extend = (duration: number, failure = "did not respond"): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const seconds = Math.round(duration / 100) / 10;
      const text = `cannot ${action}: ${server} ${failure} for ${seconds} s; try again`;
      fail(new StorageError("unavailable", text, { transient: true }));
    }, duration);
  };
  extend(ms);
  return {
    signal: controller.signal,
    get error() {
      return ended;
    },
    extend,
    fail,
    cancel,
    end(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    },
  };
}
