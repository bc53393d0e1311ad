import { expect } from "bun:test";
import {
  REPORT_SCHEMA,
  type Report,
  type SuiteResult,
  reportSchema,
} from "../../src/report/report.ts";
import { runSuite } from "../../src/run-suite.ts";
import type { SuiteContext } from "../../src/suite.ts";
import { suites } from "../../src/suites.ts";

/** Runs a suite with minimal settings and checks its result against the report schema. */
export async function runTiny(
  name: string,
  sizes?: readonly number[],
  more: Partial<SuiteContext> = {},
): Promise<SuiteResult> {
  const suite = suites.find((each) => each.name === name)!;
  const result = await runSuite(suite, {
    quick: true,
    iterations: 1,
    env: {},
    sizes,
    signal: AbortSignal.timeout(120_000),
    ...more,
  });
  if (result.status !== "completed") throw new Error(result.reason);
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
