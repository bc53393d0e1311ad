import type { Pair } from "../report/report.ts";
import { formatTime } from "../report/units.ts";

/** What paired deltas say, in a sentence for people who do not read intervals. */
export function verdictOf({
  base,
  head,
  meanDelta,
  interval,
  overhead,
}: Pick<Pair, "base" | "head" | "meanDelta" | "interval" | "overhead">): string {
  const [low, high] = [formatTime(interval.low), formatTime(interval.high)];
  const confidence = `${(100 * interval.confidence).toFixed(0)} %`;
  if (interval.low <= 0 && interval.high >= 0) {
    return `the ${confidence} interval, ${low} to ${high}, includes zero: no measurable difference`;
  }
  const [slower, faster] = meanDelta > 0 ? [head, base] : [base, head];
  const share = `${(100 * Math.abs(meanDelta > 0 ? overhead : 1 / (1 + overhead) - 1)).toFixed(1)} %`;
  const by = formatTime(Math.abs(meanDelta));
  return `${slower} is slower than ${faster} by ${by} on average, or ${share} (${confidence} interval of the difference: ${low} to ${high})`;
}
