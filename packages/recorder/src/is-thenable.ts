/**
 * Whether it is a promise, also one of another realm, which is no instance of `Promise` here. Never
 * throws, because it asks objects of the application.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
  } catch {
    return false;
  }
}
