export type {
  Calibration,
  Distribution,
  Interval,
  Machine,
  Measurement,
  MemoryPoint,
  Pair,
  Report,
  SuiteResult,
  Target,
} from "./report/report.ts";
export { REPORT_SCHEMA } from "./report/report.ts";
export { reportSchema } from "./report/schema.ts";
export type { ObjectStoreAccess, OptionValue, Suite, SuiteContext, SuiteOption } from "./suite.ts";
export { isShownMissed } from "./harness/targets.ts";
export { type RanSuite, runSuite } from "./run-suite.ts";
export { suites } from "./suites.ts";
