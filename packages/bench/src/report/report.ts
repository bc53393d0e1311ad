/*
 * The results of a run of suites: `--json` writes them, and tables, Markdown and HTML show them. Times
 * are in seconds, sizes in bytes. A report contains measurements and no formatting.
 */

/** Changes when older readers would misread the report. */
export const REPORT_SCHEMA = "idk-bench/1";

/** A confidence interval; `confidence` is between 0 and 1. */
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
  /** Bootstrap interval of the median. */
  readonly interval: Interval;
}

/** One thing, measured repeatedly. */
export interface Measurement {
  /** Unique in its suite, such as "put 1 MiB". */
  readonly name: string;
  /** The line of a chart that the measurement belongs to, such as "put". */
  readonly series: string;
  /** The position on that line. */
  readonly x?:
    | { readonly value: number; readonly unit: "bytes" | "recipients" | "files" }
    | undefined;
  /** Bytes of content that one operation moves. */
  readonly bytesPerOperation?: number | undefined;
  /**
   * Seconds of each operation, in the order measured, or ascending for microbenchmarks. At most 10,000,
   * evenly thinned.
   */
  readonly samples: readonly number[];
  /** Statistics of all samples, before thinning. */
  readonly distribution: Distribution;
  /** User and system time of the process per operation. */
  readonly cpuSeconds?: number | undefined;
  /** Peak resident memory during the measurement. */
  readonly peakRss?: number | undefined;
  /** Resident memory over time; at most 500 points. */
  readonly memory?: readonly MemoryPoint[] | undefined;
  /** Requests to the store per operation, and the bytes of their bodies. Exact. */
  readonly requests?: number | undefined;
  readonly bytesSent?: number | undefined;
  readonly bytesReceived?: number | undefined;
}

export interface MemoryPoint {
  /** Seconds from the start of the measurement. */
  readonly at: number;
  readonly rss: number;
}

/** Two measurements whose samples were taken in pairs, and their difference. */
export interface Pair {
  readonly name: string;
  /** Names of measurements of the same suite. */
  readonly base: string;
  readonly head: string;
  /** head − base of each pair in seconds, two or more. */
  readonly deltas: readonly number[];
  readonly meanDelta: number;
  /** Bootstrap interval of the mean delta. */
  readonly interval: Interval;
  /** mean(head) / mean(base) − 1 */
  readonly overhead: number;
  /** One sentence in English. */
  readonly verdict: string;
}

/** A value and the bounds that it must keep. */
export interface Target {
  readonly name: string;
  readonly value: number;
  readonly unit: "ratio" | "seconds" | "bytes/s" | "files/s" | "bytes" | "exponent" | "count";
  readonly least?: number | undefined;
  readonly most?: number | undefined;
  /** Whether the value keeps its bounds, regardless of the interval. */
  readonly met: boolean;
  /** The interval of the value, if known. A miss is significant if all of it is beyond the bound. */
  readonly interval?: Interval | undefined;
}

export interface SuiteResult {
  readonly suite: string;
  readonly title: string;
  readonly status: "completed" | "skipped" | "failed";
  /** Why the suite was skipped or failed. */
  readonly reason?: string | undefined;
  readonly seconds: number;
  readonly measurements: readonly Measurement[];
  readonly pairs: readonly Pair[];
  readonly targets: readonly Target[];
  /** Notes for the reader: what limits a figure, what was not measured. */
  readonly notes: readonly string[];
}

/** Speed of the machine in this run, in bytes per second on one thread. */
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
  /** The measured git commit, with "-dirty" if files had changed; absent outside of a repository. */
  readonly revision?: string | undefined;
  readonly machine: Machine;
  readonly calibration: Calibration;
  /** Few rounds and small sizes: too imprecise to judge. */
  readonly quick: boolean;
  readonly suites: readonly SuiteResult[];
}
