import { StorageError } from "@idk/storage";
import type { MarkerBackend } from "./marker-backend.ts";

/** How long this machine's clock is trusted to go on from the store's time, and what was read to be new. */
export const FRESH_MS = 60_000;

/** The store's time for reading. Writers ask the backend itself, whose time they depend on more. */
export interface StoreClock {
  /** The store's time in milliseconds since 1970. May take a request. */
  now(signal?: AbortSignal): Promise<number>;
  /** A guess that takes no request: undefined if it would be no guess, and `now` has to be asked. */
  guess(): number | undefined;
}

export function storeClock(backend: MarkerBackend): StoreClock {
  let known: { readonly store: number; readonly own: number } | undefined;
  return {
    async now(signal) {
      const own = Date.now();
      const elapsed = known === undefined ? Infinity : own - known.own;
      if (known === undefined || elapsed < 0 || elapsed > FRESH_MS) {
        known = { store: await storeTime(backend, signal), own: Date.now() };
        return known.store;
      }
      return known.store + elapsed;
    },
    guess() {
      // Any response of a server has its time, so a request for it alone would be one too many.
      if (backend.clockAheadMs === undefined) return undefined;
      return Date.now() - (backend.clockAheadMs() ?? 0);
    },
  };
}

async function storeTime(backend: MarkerBackend, signal: AbortSignal | undefined): Promise<number> {
  try {
    return await backend.currentTime(signal ? { signal } : {});
  } catch (error) {
    // Of a folder that can only be read: its time is that of the machine that it is mounted on.
    if (error instanceof StorageError && error.code === "permission") return Date.now();
    throw error;
  }
}
