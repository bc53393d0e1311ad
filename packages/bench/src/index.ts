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
export { REPORT_SCHEMA, reportSchema } from "./report/report.ts";
export type { ObjectStoreAccess, OptionValue, Suite, SuiteContext, SuiteOption } from "./suite.ts";
export { readReports, withFigures } from "./report/figures.ts";
export { COMMITTED, missingFrom, readBaseline } from "./baseline/baseline.ts";
export { problemsOf } from "./report/outcome.ts";
export { type RanSuite, runSuite } from "./run-suite.ts";
export { suites } from "./suites.ts";
