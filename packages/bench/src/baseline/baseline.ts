/*
 * Baselines: the results of a run, saved for later comparison. Times are saved as `calibratedCost`,
 * relative to the speed of the machine in the same run, so that a slow day, or another machine of the
 * same kind, does not look like slower code. Counts are saved as they are.
 */
import { z } from "zod";
import { calibratedCost } from "../report/calibrated.ts";
import type { Interval, Machine, Measurement, Report, SuiteResult } from "../report/report.ts";
import { interval, machine } from "../report/schema.ts";

/** Changes when older readers would misread the file. */
const BASELINE_SCHEMA = "idk-bench-baseline/1";

/** Counts that the same code always reproduces exactly. */
export const COUNTERS = ["requests", "bytesSent", "bytesReceived"] as const;
export type CounterName = (typeof COUNTERS)[number];

export interface BaselineMeasurement extends Partial<
  Pick<Measurement, CounterName | "bytesPerOperation">
> {
  readonly name: string;
  /** `calibratedCost` of the median. */
  readonly cost: number;
  /** `calibratedCost` of the ends of the interval of the median. */
  readonly interval: Interval;
}

export interface BaselineSuite {
  readonly suite: string;
  readonly measurements: readonly BaselineMeasurement[];
}

export interface Baseline {
  readonly schema: typeof BASELINE_SCHEMA;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly version: string;
  readonly revision?: string | undefined;
  readonly machine: Machine;
  readonly suites: readonly BaselineSuite[];
}

/** @returns a baseline of the completed suites; skipped and failed ones have no results */
export function baselineOf(report: Report): Baseline {
  const { createdAt, version, revision, machine, calibration } = report;
  return {
    schema: BASELINE_SCHEMA,
    createdAt,
    version,
    ...(revision !== undefined && { revision }),
    machine,
    suites: report.suites.filter(isCompared).map(({ suite, measurements }) => ({
      suite,
      measurements: measurements.map((measurement) =>
        baselineMeasurement(measurement, calibration),
      ),
    })),
  };
}

export function isCompared({ status }: SuiteResult): boolean {
  return status === "completed";
}

export function baselineMeasurement(
  measurement: Measurement,
  calibration: Report["calibration"],
): BaselineMeasurement {
  const { name, bytesPerOperation, distribution } = measurement;
  const { low, high, confidence } = distribution.interval;
  const cost = (seconds: number): number => calibratedCost(seconds, measurement, calibration);
  return {
    name,
    ...(bytesPerOperation !== undefined && { bytesPerOperation }),
    cost: cost(distribution.p50),
    interval: { low: cost(low), high: cost(high), confidence },
    ...Object.fromEntries(
      COUNTERS.flatMap((counter) => {
        const count = measurement[counter];
        return count === undefined ? [] : [[counter, count]];
      }),
    ),
  };
}

const count = z.number().int().nonnegative();
const text = z.string().min(1);
const cost = z.number().nonnegative();

const baselineSchema: z.ZodType<Baseline> = z.strictObject({
  schema: z.literal(BASELINE_SCHEMA),
  createdAt: z.iso.datetime(),
  version: text,
  revision: text.optional(),
  machine,
  suites: z.array(
    z.strictObject({
      suite: text,
      measurements: z.array(
        z.strictObject({
          name: text,
          cost,
          interval,
          bytesPerOperation: count.optional(),
          requests: count.optional(),
          bytesSent: count.optional(),
          bytesReceived: count.optional(),
        }),
      ),
    }),
  ),
});

export function renderBaseline(baseline: Baseline): string {
  return `${JSON.stringify(baselineSchema.parse(baseline), undefined, 2)}\n`;
}

/**
 * @throws Error, in one line that follows the file name: why this version cannot read the baseline
 */
export function parseBaseline(json: string): Baseline {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error("is not valid JSON");
  }
  const schema = z.looseObject({ schema: z.string() }).safeParse(value).data?.schema;
  if (schema !== BASELINE_SCHEMA) {
    const what = schema === undefined ? "has no schema" : `has the schema "${schema}"`;
    throw new Error(`${what}, not "${BASELINE_SCHEMA}": write one with --save-baseline`);
  }
  const parsed = baselineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`is invalid at ${issue?.path.join(".")}: ${issue?.message}`);
}
