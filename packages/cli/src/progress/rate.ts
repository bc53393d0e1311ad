/** How fast a count grows, of late. */
export interface Rate {
  /** Takes the count as it is now; milliseconds that never go back. */
  sample(count: number, now: number): void;
  /** Units per second over the last seconds; 0 before there is anything to compare. */
  perSecond(): number;
}

/** Long enough to be steady, short enough to notice that nothing moves any more. */
const WINDOW_MS = 8000;

export function createRate(): Rate {
  const samples: { readonly count: number; readonly at: number }[] = [];
  return {
    sample(count, now) {
      samples.push({ count, at: now });
      // What lies just before the window stays: where samples are far apart, there are two.
      while (samples.length > 2 && samples[1]!.at <= now - WINDOW_MS) samples.shift();
    },
    perSecond() {
      const [first, last] = [samples[0], samples.at(-1)];
      if (first === undefined || last === undefined || last.at <= first.at) return 0;
      return (1000 * (last.count - first.count)) / (last.at - first.at);
    },
  };
}
