import type { Retry } from "@idk/storage";
import type { Session } from "./session.ts";

const INTERVAL = 1000;

/**
 * Tells people why nothing seems to happen: at most once a second, and not of a first attempt that
 * fails, for a single hiccup is no news. Programs get the number with the progress.
 */
export function retryObserver({
  out,
  progress,
}: Pick<Session, "out" | "progress">): (retry: Retry) => void {
  let last = Number.NEGATIVE_INFINITY;
  return ({ attempt, delayMs, error }) => {
    progress.retried();
    const now = performance.now();
    if (out.json || attempt < 2 || now - last < INTERVAL) return;
    last = now;
    const seconds = (delayMs / 1000).toFixed(1);
    void out.note(`idk: retrying in ${seconds} s: ${error.message}`);
  };
}
