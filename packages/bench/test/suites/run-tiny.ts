import { expect } from "bun:test";
import { REPORT_SCHEMA, type Report, type SuiteResult } from "../../src/report/report.ts";
import { reportSchema } from "../../src/report/schema.ts";
import { suites } from "../../src/suites.ts";

/** Runs a suite with minimal settings and checks its result against the report schema. */
export async function runTiny(name: string, sizes?: readonly number[]): Promise<SuiteResult> {
  const suite = suites.find((each) => each.name === name)!;
  const result = await suite.run({
    quick: true,
    iterations: 2,
    ...(sizes && { sizes }),
    seed: 1,
    signal: AbortSignal.timeout(60_000),
    log: () => {},
  });
  expect(result).toMatchObject({ suite: name, title: suite.title, status: "completed" });
  const names = result.measurements.map((measurement) => measurement.name);
  expect(new Set(names).size).toBe(names.length);
  const report: Report = {
    schema: REPORT_SCHEMA,
    createdAt: new Date().toISOString(),
    version: "0",
    machine: {
      processor: "",
      cores: 1,
      memory: 1,
      system: "",
      runtime: "",
      nacl: "native",
    },
    calibration: { sha256: 1, secretbox: 1, memoryCopy: 1 },
    quick: true,
    suites: [result],
  };
  expect(reportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report);
  return result;
}
