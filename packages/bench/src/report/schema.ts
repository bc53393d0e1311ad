import { z } from "zod";
import { REPORT_SCHEMA, type Report } from "./report.ts";

const seconds = z.number().nonnegative();
const bytes = z.number().int().nonnegative();
const text = z.string().min(1);

const interval = z.strictObject({
  low: z.number(),
  high: z.number(),
  confidence: z.number().gt(0).lt(1),
});

const distribution = z.strictObject({
  mean: seconds,
  least: seconds,
  p50: seconds,
  p95: seconds,
  p99: seconds,
  most: seconds,
  interval,
});

const memoryPoint = z.strictObject({ at: seconds, rss: bytes, heap: bytes });

const measurement = z.strictObject({
  name: text,
  table: text.optional(),
  series: text,
  x: z
    .strictObject({ value: z.number(), unit: z.enum(["bytes", "recipients", "files", "threads"]) })
    .optional(),
  bytesPerOperation: bytes.optional(),
  samples: z.array(seconds).min(1).max(1000),
  distribution,
  cpuSamples: z.array(seconds).min(1).max(1000).optional(),
  peakRss: bytes.optional(),
  heap: bytes.optional(),
  memory: z.array(memoryPoint).max(500).optional(),
});

const pair = z.strictObject({
  name: text,
  base: text,
  head: text,
  deltas: z.array(z.number()).min(2),
  meanDelta: z.number(),
  interval,
  overhead: z.number(),
  verdict: text,
});

const target = z.strictObject({
  name: text,
  value: z.number(),
  unit: z.enum(["ratio", "change", "seconds", "bytes/s", "files/s", "bytes", "exponent", "count"]),
  least: z.number().optional(),
  most: z.number().optional(),
  goal: z.number().optional(),
  interval: interval.optional(),
  kind: z.enum(["cpu", "wall", "exact"]),
  verdict: z.enum(["met", "missed", "inconclusive"]),
});

const counter = z.strictObject({
  name: text,
  value: z.number().nonnegative(),
  unit: z.enum(["count", "bytes"]),
  tolerance: z.number().nonnegative().optional(),
});

const side = z.strictObject({ cpu: z.array(seconds), elapsed: z.array(seconds), memory: bytes });
const attempt = z.strictObject({ pairs: z.array(z.strictObject({ base: side, head: side })) });
const comparison = z.strictObject({
  base: text,
  head: text,
  tasks: z.array(z.strictObject({ task: text, attempts: z.array(attempt) })),
});

const suiteResult = z.strictObject({
  suite: text,
  title: text,
  status: z.enum(["completed", "skipped", "failed"]),
  reason: text.optional(),
  seconds,
  measurements: z.array(measurement),
  pairs: z.array(pair),
  counters: z.array(counter),
  targets: z.array(target),
  notes: z.array(z.string()),
  comparison: comparison.optional(),
});

const rate = z.number().positive();
const calibration = z.strictObject({ sha256: rate, secretbox: rate, memoryCopy: rate });

const machine = z.strictObject({
  processor: z.string(),
  cores: z.number().int().positive(),
  memory: bytes,
  system: z.string(),
  runtime: z.string(),
  nacl: z.enum(["native", "portable"]),
});

/** The published schema of reports. */
export const reportSchema: z.ZodType<Report> = z.strictObject({
  schema: z.literal(REPORT_SCHEMA),
  createdAt: z.iso.datetime(),
  version: text,
  revision: text.optional(),
  machine,
  calibration,
  quick: z.boolean(),
  rtt: z.number().positive().optional(),
  suites: z.array(suiteResult),
});

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
