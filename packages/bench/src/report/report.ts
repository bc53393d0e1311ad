/*
 * What a run of suites found: written with `--json`, shown in tables, Markdown and HTML, and read
 * back as a baseline. Times are in seconds, sizes in bytes. A report holds what was measured, and
 * nothing that is only a way to say it.
 */

/** Bumped when a reader of the old one would misread the new one. */
export const REPORT_SCHEMA = "idk-bench/1";

/** An interval that a statistic is in, with the confidence, 0 to 1, that it is said with. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly confidence: number;
}

/** Order statistics of samples, in seconds. */
export interface Distribution {
  readonly mean: number;
  readonly least: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly most: number;
  /** Of the median, by bootstrap. */
  readonly interval: Interval;
}

/** What one thing took, time after time. */
export interface Measurement {
  /** Unique in its suite: "put 1 MiB". */
  readonly name: string;
  /** Measurements of one line of a chart share it: "put". */
  readonly series: string;
  /** Where on that line. */
  readonly x?:
    | { readonly value: number; readonly unit: "bytes" | "recipients" | "files" }
    | undefined;
  /** Content that one operation moves, for rates. */
  readonly bytesPerOperation?: number | undefined;
  /**
   * Seconds of each operation in the order they were taken, of micro tasks in ascending order; at
   * most 10,000, evenly thinned.
   */
  readonly samples: readonly number[];
  /** Of all samples, before any were thinned. */
  readonly distribution: Distribution;
  /** User and system time of the process, for each operation. */
  readonly cpuSeconds?: number | undefined;
  /** Peak resident memory during the measurement. */
  readonly peakRss?: number | undefined;
  /** Resident memory over time; at most 500 points. */
  readonly memory?: readonly MemoryPoint[] | undefined;
  /** For each operation, exactly: requests to the store, bytes of their bodies. */
  readonly requests?: number | undefined;
  readonly bytesSent?: number | undefined;
  readonly bytesReceived?: number | undefined;
}

export interface MemoryPoint {
  /** Seconds from the start of the measurement. */
  readonly at: number;
  readonly rss: number;
}

/** Two measurements taken in pairs, and what lies between them. */
export interface Pair {
  readonly name: string;
  /** Names of measurements of the same suite. */
  readonly base: string;
  readonly head: string;
  /** head − base of each pair, in seconds; two or more. */
  readonly deltas: readonly number[];
  readonly meanDelta: number;
  /** Of the mean delta, by bootstrap. */
  readonly interval: Interval;
  /** mean(head) / mean(base) − 1 */
  readonly overhead: number;
  /** In plain English. */
  readonly verdict: string;
}

/** A bound that a value has to keep. */
export interface Target {
  readonly name: string;
  readonly value: number;
  readonly unit: "ratio" | "seconds" | "bytes/s" | "files/s" | "bytes" | "exponent" | "count";
  readonly least?: number | undefined;
  readonly most?: number | undefined;
  /** Whether the value keeps the bound, however certain that is. */
  readonly met: boolean;
  /** Where chance can be told: what the value is in. A miss is shown where all of it is beyond. */
  readonly interval?: Interval | undefined;
}

export interface SuiteResult {
  readonly suite: string;
  readonly title: string;
  readonly status: "completed" | "skipped" | "failed";
  /** Why it was skipped, or how it failed. */
  readonly reason?: string | undefined;
  readonly seconds: number;
  readonly measurements: readonly Measurement[];
  readonly pairs: readonly Pair[];
  readonly targets: readonly Target[];
  /** Remarks for the reader: what bounds a figure, what was left out. */
  readonly notes: readonly string[];
}

/** What the machine itself did in this run, to read the rest against: bytes a second on one thread. */
export interface Calibration {
  readonly sha256: number;
  readonly secretbox: number;
  readonly memoryCopy: number;
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memory: number;
  readonly system: string;
  readonly runtime: string;
  readonly nacl: "native" | "portable";
}

export interface Report {
  readonly schema: typeof REPORT_SCHEMA;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly version: string;
  /** The git commit that was measured, with "-dirty" where files had changed; none outside of git. */
  readonly revision?: string | undefined;
  readonly machine: Machine;
  readonly calibration: Calibration;
  /** Every suite once, at few rounds: figures to look at, not to judge by. */
  readonly quick: boolean;
  readonly suites: readonly SuiteResult[];
}
