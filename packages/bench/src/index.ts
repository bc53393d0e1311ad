export type * from "./report/report.ts";
export type * from "./suite.ts";
export { COMMITTED, missingFrom, readBaseline } from "./baseline/baseline.ts";
export { readReports, withFigures } from "./report/figures.ts";
export { describeProblem, problemsOf } from "./report/outcome.ts";
export { reportSchema } from "./report/report.ts";
export { runSuite } from "./run-suite.ts";
export { suites } from "./suites.ts";
export { RUNTIME_FLAGS } from "./harness/processes.ts";
