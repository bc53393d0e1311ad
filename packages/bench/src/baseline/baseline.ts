/*
 * Baselines: what a run found, kept to be compared with on a later day. Times are kept as
 * `calibratedCost`, a multiple of what the machine itself needed in the same run, so that a machine
 * that is slower that day, or another of the same kind, is not taken for slower code. What is
 * counted is kept as it is.
 */
import { z } from "zod";
import { calibratedCost } from "../report/calibrated.ts";
import type { Interval, Machine, Measurement, Report, SuiteResult } from "../report/report.ts";
import { interval, machine } from "../report/schema.ts";

/** Bumped when a reader of the old one would misread the new one. */
const BASELINE_SCHEMA = "idk-bench-baseline/1";

/** What is the same whenever the same code does the same. */
export const COUNTERS = ["requests", "bytesSent", "bytesReceived"] as const;
export type CounterName = (typeof COUNTERS)[number];

export interface BaselineMeasurement extends Partial<
  Pick<Measurement, CounterName | "bytesPerOperation">
> {
  readonly name: string;
  /** `calibratedCost` of the median. */
  readonly cost: number;
  /** `calibratedCost` of the ends of the median's interval. */
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

/** @returns what has been completed; a suite that was skipped or failed has nothing to compare with */
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
 * @throws Error that says in one line why the text is no baseline that this version can read
 */
export function parseBaseline(json: string): Baseline {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error("is no JSON");
  }
  const schema = z.looseObject({ schema: z.string() }).safeParse(value).data?.schema;
  if (schema !== BASELINE_SCHEMA) {
    const what = schema === undefined ? "names no schema" : `has the schema "${schema}"`;
    throw new Error(`${what}, not "${BASELINE_SCHEMA}": write one with --save-baseline`);
  }
  const parsed = baselineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`is damaged at ${issue?.path.join(".")}: ${issue?.message}`);
}
