export { COMMITTED, missingFrom, readBaseline } from "./baseline/baseline.ts";
export { readReports, withFigures } from "./report/figures.ts";
export { problemsOf } from "./report/outcome.ts";
export {
  type Measurement,
  type Report,
  type SuiteResult,
  type Target,
  reportSchema,
} from "./report/report.ts";
export { type RanSuite, runSuite } from "./run-suite.ts";
export { suites } from "./suites.ts";
