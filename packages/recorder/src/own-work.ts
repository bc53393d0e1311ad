import { AsyncLocalStorage } from "node:async_hooks";
import { bun } from "./runtime.ts";

const ownWork = new AsyncLocalStorage<true>();

/**
 * A function that runs what a recorder does by itself in the asynchronous context of this call,
 * instead of that of whichever request began it. On Bun it is marked as the recorder's own, too: Node
 * would make every promise of the application slower for that.
 */
export function createOwnContext(): <T>(work: () => T) => T {
  if (bun === undefined) return AsyncLocalStorage.snapshot();
  return ownWork.run(true, () => AsyncLocalStorage.snapshot());
}

/** Whether the caller is known to be a recorder, such as a backend that uploads with a recorded `fetch`. */
export function isOwnWork(): boolean {
  return ownWork.getStore() === true;
}
