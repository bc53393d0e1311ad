/*
 * The results of a run of suites: `--json` writes them, and tables, Markdown and HTML show them. Times
 * are in seconds, sizes in bytes. A report contains measurements and no formatting.
 */

/** Changes when older readers would misread the report. */
export const REPORT_SCHEMA = "idk-bench/2";

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
  /** The table that shows the measurement, by default that of the suite: "uploads". */
  readonly table?: string | undefined;
  /** The line of a chart that the measurement belongs to, such as "put". */
  readonly series: string;
  /** The position on that line. */
  readonly x?:
    | { readonly value: number; readonly unit: "bytes" | "recipients" | "files" | "threads" }
    | undefined;
  /** Bytes of content that one operation moves. */
  readonly bytesPerOperation?: number | undefined;
  /**
   * Seconds of each operation, in the order measured, or ascending for microbenchmarks. At most 1000,
   * evenly thinned.
   */
  readonly samples: readonly number[];
  /** Statistics of all samples, before thinning. */
  readonly distribution: Distribution;
  /** User and system time of the process for each operation, in the order of the samples. */
  readonly cpuSamples?: readonly number[] | undefined;
  /** Peak resident memory during the measurement, and the JavaScript heap after it. */
  readonly peakRss?: number | undefined;
  readonly heap?: number | undefined;
  /** Memory over time; at most 500 points. */
  readonly memory?: readonly MemoryPoint[] | undefined;
}

export interface MemoryPoint {
  /** Seconds from the start of the measurement. */
  readonly at: number;
  readonly rss: number;
  /** Bytes of live JavaScript objects. */
  readonly heap: number;
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

/**
 * - `met`: the bound is kept, even at the unfavourable end of the interval, or by the value if the
 *   interval is narrow.
 * - `missed`: even the favourable end of the interval is beyond the bound.
 * - `inconclusive`: neither can be said, even after the additional rounds.
 */
export type Verdict = "met" | "missed" | "inconclusive";

/** A value and the bounds that it must keep. */
export interface Target {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  readonly least?: number | undefined;
  readonly most?: number | undefined;
  /** A better bound that is wanted and does not decide the verdict. */
  readonly goal?: number | undefined;
  /** The interval of the value, if it was sampled. */
  readonly interval?: Interval | undefined;
  /**
   * What the value was computed from: CPU time, elapsed time, or something exact. Decides how wide the
   * interval may be, and whether an inconclusive verdict fails a strict run.
   */
  readonly kind: "cpu" | "wall" | "exact";
  readonly verdict: Verdict;
}

/** A `change` is relative: 0.1 is 10 % more. */
export type Unit =
  | "ratio"
  | "change"
  | "seconds"
  | "bytes/s"
  | "files/s"
  | "bytes"
  | "exponent"
  | "count";

/** A number that the same code always reproduces, to compare with the committed baseline. */
export interface Counter {
  /** Unique in its suite, such as "put 1 MiB: PUT requests". */
  readonly name: string;
  readonly value: number;
  readonly unit: "count" | "bytes";
  /** The tolerated increase over the baseline: 0.1 is 10 %. Default 0. */
  readonly tolerance?: number | undefined;
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
  readonly counters: readonly Counter[];
  readonly targets: readonly Target[];
  /** Notes for the reader: what limits a figure, what was not measured. */
  readonly notes: readonly string[];
  /** What `compare` measured. */
  readonly comparison?: Comparison | undefined;
}

/** The commits of two revisions, and what the processes of each task took in one or two attempts. */
export interface Comparison {
  readonly base: string;
  readonly head: string;
  readonly tasks: readonly {
    readonly task: string;
    readonly attempts: readonly { readonly pairs: readonly ProcessPair[] }[];
  }[];
}

/** Two processes alive at the same time, whose batches alternated in random order. */
export type ProcessPair = Readonly<Record<"base" | "head", ProcessSide>>;

/** What one process took for each operation; an item for each batch. */
export interface ProcessSide {
  readonly cpu: readonly number[];
  readonly elapsed: readonly number[];
  /** Peak resident memory during the batches. */
  readonly memory: number;
}

/** Speed of libsodium, `node:crypto` and memory in this run, in bytes per second on one thread. */
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
  /** The NaCl that the library chose. */
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
  /** The round trip added to each request to the object store, in milliseconds. */
  readonly rtt?: number | undefined;
  readonly suites: readonly SuiteResult[];
}
