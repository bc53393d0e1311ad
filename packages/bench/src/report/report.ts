/*
 * The results of a run of suites: `--json` writes them, and tables, Markdown and HTML show them. Times
 * are in seconds, sizes in bytes. A report contains measurements and no formatting.
 *
 * Code that is measured imports types only from here, because zod would add to its heap.
 */
import { z } from "zod";

/** Changes when older readers would misread the report. */
export const REPORT_SCHEMA = "idk-bench/2";

const seconds = z.number().nonnegative();
const bytes = z.number().int().nonnegative();
const rate = z.number().positive();
const text = z.string().min(1);

const interval = z.strictObject({
  low: z.number(),
  high: z.number(),
  confidence: z.number().gt(0).lt(1),
});

/** Order statistics of samples. */
const distribution = z.strictObject({
  mean: seconds,
  least: seconds,
  p50: seconds,
  p95: seconds,
  p99: seconds,
  most: seconds,
  /** Bootstrap interval of the median. */
  interval,
});

/** One thing, measured repeatedly. */
const measurement = z.strictObject({
  /** Unique in its suite, such as "put 1 MiB". */
  name: text,
  /** The table that shows the measurement, by default that of the suite: "uploads". */
  table: text.optional(),
  /** The line of a chart that the measurement belongs to, such as "put". */
  series: text,
  /** The position on that line. */
  x: z
    .strictObject({
      value: z.number(),
      unit: z.enum(["bytes", "recipients", "files", "threads", "shards"]),
    })
    .optional(),
  /** Bytes of content that one operation moves. */
  bytesPerOperation: bytes.optional(),
  /** The time of each operation, in the order measured; evenly thinned. */
  samples: z.array(seconds).min(1).max(1000),
  /** Statistics of all samples, before thinning. */
  distribution,
  /** User and system time of the process for each operation, in the order of the samples. */
  cpuSamples: z.array(seconds).min(1).max(1000).optional(),
  /** Peak resident memory during the measurement. */
  peakRss: bytes.optional(),
  /** The JavaScript heap after the measurement. */
  heap: bytes.optional(),
  /** Memory over time, from the start of the measurement; `heap` is that of live objects. */
  memory: z
    .array(z.strictObject({ at: seconds, rss: bytes, heap: bytes }))
    .max(500)
    .optional(),
});

/** Two measurements whose samples were taken in pairs, and their difference. */
const pair = z.strictObject({
  name: text,
  /** The name of a measurement of the same suite, as is `head`. */
  base: text,
  head: text,
  /** head − base of each pair in seconds. */
  deltas: z.array(z.number()).min(2),
  meanDelta: z.number(),
  /** Bootstrap interval of the mean delta. */
  interval,
  /** mean(head) / mean(base) − 1 */
  overhead: z.number(),
  /** One sentence in English. */
  verdict: text,
});

/** A value and the bounds that it must keep. */
const target = z.strictObject({
  name: text,
  value: z.number(),
  /** A `change` is relative: 0.1 is 10 % more. */
  unit: z.enum(["ratio", "change", "seconds", "bytes/s", "files/s", "bytes", "exponent", "count"]),
  least: z.number().optional(),
  most: z.number().optional(),
  /** A better bound that is wanted and does not decide the verdict. */
  goal: z.number().optional(),
  /** The interval of the value, if it was sampled. */
  interval: interval.optional(),
  /**
   * What the value was computed from: CPU time, elapsed time, or something exact. Decides how wide the
   * interval may be, and whether an inconclusive verdict fails a strict run.
   */
  kind: z.enum(["cpu", "wall", "exact"]),
  /**
   * - `met`: the bound is kept, even at the unfavourable end of the interval, or by the value if the
   *   interval is narrow.
   * - `missed`: even the favourable end of the interval is beyond the bound.
   * - `inconclusive`: neither can be said, even after the additional rounds.
   */
  verdict: z.enum(["met", "missed", "inconclusive"]),
  /**
   * Whether the baseline has only its name: the two sides of the ratio use different parts of a machine, so
   * it differs between hosts.
   */
  ownBoundOnly: z.literal(true).optional(),
});

/** A number that the same code always reproduces, to compare with the committed baseline. */
const counter = z.strictObject({
  /** Unique in its suite, such as "put 1 MiB: PUT requests". */
  name: text,
  value: z.number().nonnegative(),
  unit: z.enum(["count", "bytes"]),
  /** The tolerated difference from the baseline: 0.1 is 10 %. Default 0. */
  tolerance: z.number().nonnegative().optional(),
  /** A peak of memory: it depends on the machine, and may fall. */
  peak: z.literal(true).optional(),
});

/** What one process took for each operation; an item for each batch. */
const processSide = z.strictObject({
  cpu: z.array(seconds),
  elapsed: z.array(seconds),
  /** Peak resident memory, from the start of the process to its last batch. */
  memory: bytes,
});

/** Two processes alive at the same time, whose batches alternated in random order. */
const processPair = z.strictObject({ base: processSide, head: processSide });

/** The commits of two revisions, and what the processes of each task took in one or two attempts. */
const comparison = z.strictObject({
  base: text,
  head: text,
  tasks: z.array(
    z.strictObject({
      task: text,
      attempts: z.array(z.strictObject({ pairs: z.array(processPair) })),
    }),
  ),
});

const suite = z.strictObject({
  suite: text,
  title: text,
  status: z.enum(["completed", "skipped", "failed"]),
  /** Why the suite was skipped or failed. */
  reason: text.optional(),
  seconds,
  measurements: z.array(measurement),
  pairs: z.array(pair),
  counters: z.array(counter),
  targets: z.array(target),
  /** For the reader: what limits a figure, what was not measured. */
  notes: z.array(z.string()),
  /** What `compare` measured. */
  comparison: comparison.optional(),
});

const machine = z.strictObject({
  processor: z.string(),
  cores: z.number().int().positive(),
  memory: bytes,
  system: z.string(),
  runtime: z.string(),
  /** The NaCl that the library chose. */
  nacl: z.enum(["native", "portable"]),
});

const report = z.strictObject({
  schema: z.literal(REPORT_SCHEMA),
  /** UTC. */
  createdAt: z.iso.datetime(),
  version: text,
  /** The measured git commit, with "-dirty" if files had changed; absent outside of a repository. */
  revision: text.optional(),
  machine,
  /** Speed of libsodium, `node:crypto` and memory in this run, in bytes per second on one thread. */
  calibration: z.strictObject({ sha256: rate, secretbox: rate, memoryCopy: rate }),
  /** Few rounds and small sizes: too imprecise to judge. */
  quick: z.boolean(),
  /** The round trip added to each request to the object store, in milliseconds. */
  rtt: z.number().positive().optional(),
  /** What the line to the object store let through in each direction, in bytes per second. */
  rate: rate.optional(),
  suites: z.array(suite),
});

/** What a schema describes, all of it read-only. */
export type Inferred<Schema extends z.ZodType> = ReadOnly<z.infer<Schema>>;
type ReadOnly<T> = { readonly [Key in keyof T]: ReadOnly<T[Key]> };

export type Interval = Inferred<typeof interval>;
export type Distribution = Inferred<typeof distribution>;
export type Measurement = Inferred<typeof measurement>;
export type MemoryPoint = NonNullable<Measurement["memory"]>[number];
export type Pair = Inferred<typeof pair>;
export type Target = Inferred<typeof target>;
export type Unit = Target["unit"];
export type Verdict = Target["verdict"];
export type Counter = Inferred<typeof counter>;
export type ProcessSide = Inferred<typeof processSide>;
export type ProcessPair = Inferred<typeof processPair>;
export type Comparison = Inferred<typeof comparison>;
export type SuiteResult = Inferred<typeof suite>;
export type Machine = Inferred<typeof machine>;
export type Report = Inferred<typeof report>;
export type Calibration = Report["calibration"];

/** A report without its suites. */
export type ReportHead = Omit<Report, "suites">;

/** The published schema of reports. */
export const reportSchema: z.ZodType<Report> = report;

/**
 * The report as a JSON file.
 *
 * @throws Error if it does not match the published schema, because a suite returned something else
 */
export function renderJson(report: Report): string {
  const checked = reportSchema.safeParse(report);
  if (!checked.success) {
    throw new Error(`the report does not match its schema:\n${z.prettifyError(checked.error)}`);
  }
  // Six digits are more than clocks have, and a line of numbers is easier to read than a column.
  const short = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toPrecision(value % 1 === 0 ? 15 : 6)) : value;
  const text = JSON.stringify(checked.data, short, 2);
  return `${text.replaceAll(/\[\s+[-\d.e+,\s]+\]/gu, (list) => list.replaceAll(/\s+/gu, " "))}\n`;
}

/** The schema of reports as JSON Schema, draft 2020-12, for `--json-schema`. */
export function renderJsonSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(reportSchema), undefined, 2)}\n`;
}
