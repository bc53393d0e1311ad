import { AsyncLocalStorage } from "node:async_hooks";

const ownWork = new AsyncLocalStorage<true>();

/**
 * A function that runs what a recorder does by itself in the asynchronous context of this call,
 * instead of that of whichever request began it, and marks it as the recorder's own.
 */
export function createOwnContext(): <T>(work: () => T) => T {
  return ownWork.run(true, () => AsyncLocalStorage.snapshot());
}

/** Whether the caller is a recorder, such as a backend that uploads with a recorded `fetch`. */
export function isOwnWork(): boolean {
  return ownWork.getStore() === true;
}
