import {
  type Measurement,
  REPORT_SCHEMA,
  type Report,
  type ReportHead,
  type SuiteResult,
  type Target,
} from "../../src/report/report.ts";
import { type Problem, problemsOf } from "../../src/report/outcome.ts";

export const HEAD: ReportHead = {
  schema: REPORT_SCHEMA,
  createdAt: "2026-01-02T03:04:05.678Z",
  version: "0.1.0",
  revision: "0123456789abcdef0123456789abcdef01234567-dirty",
  machine: {
    processor: "Abacus 9",
    cores: 2,
    memory: 8 * 2 ** 30,
    system: "linux 6.1",
    runtime: "Bun 1.4.5",
    nacl: "native",
  },
  calibration: { sha256: 500e6, secretbox: 500e6, memoryCopy: 10e9 },
  quick: false,
};

/** @param median in seconds; its interval is ± 1 % */
export function measurement(
  name: string,
  median: number,
  more: Partial<Measurement> = {},
): Measurement {
  const [low, high] = [median * 0.99, median * 1.01];
  return {
    name,
    series: name.split(" ")[0]!,
    samples: [low, median, high],
    distribution: {
      mean: median,
      least: low,
      p50: median,
      p95: high,
      p99: high,
      most: high,
      interval: { low, high, confidence: 0.95 },
    },
    ...more,
  };
}

export function target(name: string, value: number, most: number): Target {
  const verdict = value <= most ? "met" : "missed";
  return { name, value, unit: "ratio", most, kind: "wall", verdict };
}

export function result(suite: string, more: Partial<SuiteResult> = {}): SuiteResult {
  return {
    suite,
    title: `What ${suite} takes`,
    status: "completed",
    seconds: 12.3,
    measurements: [],
    pairs: [],
    counters: [],
    targets: [],
    notes: [],
    ...more,
  };
}

export const REPORT: Report = {
  ...HEAD,
  suites: [
    result("seal", {
      measurements: [
        measurement("seal 1 MB", 0.004, {
          bytesPerOperation: 1e6,
          cpuSamples: [0.0041, 0.0041, 0.0041],
          peakRss: 85 * 2 ** 20,
          heap: 12 * 2 ** 20,
        }),
        measurement("make a key", 25e-6),
      ],
      pairs: [
        {
          name: "with | without",
          base: "seal 1 MB",
          head: "make a key",
          deltas: [0.001, 0.002],
          meanDelta: 0.0015,
          interval: { low: -0.0001, high: 0.0031, confidence: 0.95 },
          overhead: 0.043,
          verdict: "the interval includes zero: no measurable difference",
        },
      ],
      counters: [{ name: "seal 1 MB: bytes hashed", value: 1_000_040, unit: "bytes" }],
      targets: [
        target("seal by bound", 1, 1.1),
        {
          ...target("open by bound", 1, 1.1),
          interval: { low: 0.6, high: 1.4, confidence: 0.99 },
          verdict: "inconclusive",
        },
        target("key by <bound>", 2, 1.5),
      ],
      notes: ["the first *round* warms up"],
    }),
    result("upload", { status: "skipped", reason: "no object store", seconds: 0 }),
    result("broken", { status: "failed", reason: "HTTP 500", seconds: 0.5 }),
  ],
};

export const PROBLEMS: readonly Problem[] = problemsOf(REPORT, { strict: false, ci: false });
