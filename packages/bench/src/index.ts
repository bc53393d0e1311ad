export type {
  Calibration,
  Counter,
  Distribution,
  Interval,
  Machine,
  Measurement,
  MemoryPoint,
  Pair,
  Report,
  SuiteResult,
  Target,
  Verdict,
} from "./report/report.ts";
export { REPORT_SCHEMA } from "./report/report.ts";
export { reportSchema } from "./report/schema.ts";
export type { ObjectStoreAccess, OptionValue, Suite, SuiteContext, SuiteOption } from "./suite.ts";
export { readReports, withFigures } from "./report/figures.ts";
export { problemsOf } from "./report/outcome.ts";
export { type RanSuite, runSuite } from "./run-suite.ts";
export { suites } from "./suites.ts";
