import { FRESH_MS } from "./store-clock.ts";

/**
 * Heads that were read a moment ago, so that what finds a repository or a snapshot and what uses it do not
 * each fetch the same one. A blob does not change; within a minute, it may be gone.
 */
export interface RecentHeads {
  /** The decrypted content of the blob at an address. */
  get(address: string): Uint8Array | undefined;
  add(address: string, content: Uint8Array): void;
}

/** Bytes that are kept. */
const KEPT_MAX = 2 ** 20;
/** What a head takes besides its content. */
const OVERHEAD = 512;

/** @param now milliseconds */
export function recentHeads(now: () => number = Date.now): RecentHeads {
  // In the order in which they were added.
  const kept = new Map<string, { readonly content: Uint8Array; readonly at: number }>();
  let bytes = 0;
  const forget = (address: string): void => {
    const found = kept.get(address);
    if (found !== undefined) bytes -= OVERHEAD + found.content.length;
    kept.delete(address);
  };
  return {
    get(address) {
      const found = kept.get(address);
      if (found === undefined) return undefined;
      const age = now() - found.at;
      if (age >= 0 && age < FRESH_MS) return found.content;
      forget(address);
      return undefined;
    },
    add(address, content) {
      forget(address);
      kept.set(address, { content, at: now() });
      bytes += OVERHEAD + content.length;
      for (const [oldest] of kept) {
        if (bytes <= KEPT_MAX) break;
        forget(oldest);
      }
    },
  };
}
