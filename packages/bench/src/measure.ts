/** What the measuring scripts share. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median with the smallest and largest value, for people. */
export function spread(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** What one run of something took. */
export interface Sample {
  readonly seconds: number;
  /** User and system time of all threads and processes. */
  readonly cpuSeconds: number;
  /** Peak resident memory of the process, MiB. */
  readonly peakMib: number;
}

/** Medians over the rounds. */
export interface Summary extends Sample {
  /** Seconds of each round. */
  readonly all: readonly number[];
}

export function summarize(samples: readonly Sample[]): Summary {
  const all = samples.map(({ seconds }) => seconds);
  return {
    seconds: median(all),
    cpuSeconds: median(samples.map(({ cpuSeconds }) => cpuSeconds)),
    peakMib: median(samples.map(({ peakMib }) => peakMib)),
    all,
  };
}

/**
 * Runs tasks that measure themselves in turn, a round at a time, so that a slow moment of the machine
 * meets all of them. Each round begins with another one, so that none is always the first or always
 * behind the same one.
 *
 * @param between runs before each task, unmeasured: to bring the machine to the same state
 */
export async function interleavedSamples<Name extends string>(
  rounds: number,
  tasks: Record<Name, (round: number) => Promise<Sample>>,
  between: () => Promise<unknown> = async () => {},
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(tasks) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    Sample[]
  >;
  for (let round = -1; round < rounds; round++) {
    for (const name of rotated(names, round + 1)) {
      await between();
      const sample = await tasks[name](round);
      // The first round warms up caches, compilers and allocators.
      if (round >= 0) samples[name].push(sample);
    }
  }
  return samples;
}

export function rotated<T>(items: readonly T[], by: number): T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

/** The line of a figure: time, rate, CPU seconds for each GiB, peak memory. */
export function figure(name: string, bytes: number, summary: Summary): string {
  const rate = bytes / 1e6 / summary.seconds;
  const cpu = summary.cpuSeconds / (bytes / 2 ** 30);
  return [
    name.padEnd(24),
    `${spread(summary.all, 2).padStart(22)} s`,
    `${rate.toFixed(0).padStart(6)} MB/s`,
    `${cpu.toFixed(2).padStart(7)} CPU s/GiB`,
    `${summary.peakMib.toFixed(0).padStart(6)} MiB peak`,
  ].join("  ");
}

/** A bound that a figure has to keep. */
export interface Target {
  readonly name: string;
  readonly value: number;
  /** What the value must reach at least, or may be at most. */
  readonly least?: number;
  readonly most?: number;
}

export function isMet({ value, least = -Infinity, most = Infinity }: Target): boolean {
  return value >= least && value <= most;
}

/** Prints each target with its outcome. A missed one makes the process's exit code 1. */
export function judge(targets: readonly Target[]): void {
  for (const target of targets) {
    const { name, value, least, most } = target;
    const wanted = least === undefined ? `at most ${most}` : `at least ${least}`;
    const outcome = isMet(target) ? "met" : "MISSED";
    console.log(`${outcome.padEnd(7)} ${name}: ${value.toFixed(2)}, ${wanted}`);
    if (!isMet(target)) process.exitCode = 1;
  }
}

/** A line through points by least squares: its slope, and the slope's standard error. */
export function fitLine(
  xs: readonly number[],
  ys: readonly number[],
): { slope: number; error: number } {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const squares = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  const slope = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i]! - meanY), 0) / squares;
  const residuals = ys.reduce((sum, y, i) => sum + (y - meanY - slope * (xs[i]! - meanX)) ** 2, 0);
  return { slope, error: Math.sqrt(residuals / (xs.length - 2) / squares) };
}
