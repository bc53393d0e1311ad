import { StorageError } from "../../errors.ts";

/** A caller's signal together with a timer that can be wound up again. */
export interface Deadline {
  /** Fires when the caller's signal does, or when the time is over. */
  readonly signal: AbortSignal;
  /** The error to report where the time was over, or the request was made to fail. */
  readonly late: StorageError | undefined;
  /** Gives another so many milliseconds from now. */
  extend(ms: number): void;
  /** Ends the request at once, with this as the error to report. */
  fail(error: StorageError): void;
  /** Ends a request that is no longer of use. */
  abandon(): void;
  /** Lets go of the caller's signal. To be called in any case. */
  end(): void;
}

export function deadline(signal: AbortSignal | undefined, ms: number, doing: string): Deadline {
  const controller = new AbortController();
  const abandon = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abandon, { once: true });
  if (signal?.aborted) abandon();
  let late: StorageError | undefined;
  let timer: NodeJS.Timeout | undefined;
  const fail = (error: StorageError): void => {
    late = error;
    controller.abort(error);
  };
  const extend = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const says = `the store did not answer for ${Math.round(ms / 100) / 10} s; try again`;
      fail(new StorageError("unavailable", `cannot ${doing}: ${says}`, { transient: true }));
    }, ms);
  };
  extend(ms);
  return {
    signal: controller.signal,
    get late() {
      return late;
    },
    extend,
    fail,
    abandon,
    end(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abandon);
    },
  };
}
