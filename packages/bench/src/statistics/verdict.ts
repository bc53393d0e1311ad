import type { Pair } from "../report/report.ts";

/** What paired deltas say, in a sentence for people who do not read intervals. */
export function verdictOf({
  base,
  head,
  meanDelta,
  interval,
  overhead,
}: Pick<Pair, "base" | "head" | "meanDelta" | "interval" | "overhead">): string {
  const [low, high] = [time(interval.low), time(interval.high)];
  const confidence = `${(100 * interval.confidence).toFixed(0)} %`;
  if (interval.low <= 0 && interval.high >= 0) {
    return `the ${confidence} interval, ${low} to ${high}, includes zero: no measurable difference`;
  }
  const [slower, faster] = meanDelta > 0 ? [head, base] : [base, head];
  const share = `${(100 * Math.abs(meanDelta > 0 ? overhead : 1 / (1 + overhead) - 1)).toFixed(1)} %`;
  const by = time(Math.abs(meanDelta));
  return `${slower} is slower than ${faster} by ${by} on average, or ${share} (${confidence} interval of the difference: ${low} to ${high})`;
}

/** Seconds in the unit that people would say them in. */
function time(seconds: number): string {
  const size = Math.abs(seconds);
  if (size >= 1) return `${seconds.toFixed(2)} s`;
  if (size >= 1e-3 || size === 0) return `${(seconds * 1e3).toFixed(2)} ms`;
  return `${(seconds * 1e6).toFixed(2)} µs`;
}
