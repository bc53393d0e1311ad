import type { Report } from "../report/report.ts";
import {
  type Baseline,
  type BaselineMeasurement,
  type BaselineSuite,
  COUNTERS,
  type CounterName,
  baselineMeasurement,
  isCompared,
} from "./baseline.ts";

/**
 * Tolerated slowdown: 0.1 is 10 %. It is larger than in a comparison of two revisions, which measures
 * both in the same minutes and knows the noise of the machine.
 */
const TOLERANCES = { cpu: 0.1, io: 0.3 } as const;

export interface BaselineChange {
  readonly suite: string;
  readonly name: string;
  /** The time, or a counter. */
  readonly what: "time" | CounterName;
  /** `calibratedCost`, or the count. */
  readonly base: number;
  readonly now: number;
  /** now / base − 1 */
  readonly change: number;
  /** 0 for counters. */
  readonly tolerance: number;
  readonly verdict: "slower" | "faster" | "more" | "less" | "same";
}

/** Whether the change fails the run. */
export function isRegression({ verdict }: BaselineChange): boolean {
  return verdict === "slower" || verdict === "more";
}

/** The suites with a slower time. Counters are exact, so that measuring again would not change them. */
export function slowerSuites(changes: readonly BaselineChange[]): ReadonlySet<string> {
  return new Set(changes.filter(({ verdict }) => verdict === "slower").map(({ suite }) => suite));
}

/** The changes of the second run, where "slower" stands only if the first run was slower too. */
export function confirmed(
  first: readonly BaselineChange[],
  second: readonly BaselineChange[],
): BaselineChange[] {
  const key = ({ suite, name }: BaselineChange): string => JSON.stringify([suite, name]);
  const slower = new Set(first.filter(({ verdict }) => verdict === "slower").map(key));
  return second.map((change) =>
    change.verdict === "slower" && !slower.has(key(change))
      ? { ...change, verdict: "same" }
      : change,
  );
}

export interface BaselineOptions {
  /** Names of the suites that wait for I/O. */
  readonly io: ReadonlySet<string>;
  /** Replaces `TOLERANCES`. */
  readonly tolerance?: number | undefined;
}

/**
 * Compares the completed suites of the run with the baseline and ignores other suites of the baseline.
 * A time is slower if the lower end of its interval is above the upper end of the baseline's interval
 * by more than the tolerance, and faster in the opposite case. Counters are compared exactly: any
 * increase is a regression.
 *
 * @throws Error, a sentence that follows the file name, if they did not measure the same things
 */
export function compareToBaseline(
  baseline: Baseline,
  report: Report,
  { io, tolerance }: BaselineOptions,
): BaselineChange[] {
  checkComparable(
    baseline,
    report.suites.filter(isCompared).map(({ suite }) => suite),
    report.machine.nacl,
  );
  return report.suites.filter(isCompared).flatMap(({ suite, measurements }) => {
    const allowed = tolerance ?? TOLERANCES[io.has(suite) ? "io" : "cpu"];
    const now = measurements.map((each) => baselineMeasurement(each, report.calibration));
    return pairUp(suiteOf(baseline, suite)!, now).flatMap(([before, after]) =>
      [timeChange(suite, before, after, allowed)].concat(countChanges(suite, before, after)),
    );
  });
}

/**
 * Checks what can be checked before anything is measured.
 *
 * @throws Error if the baseline lacks a suite or was measured with the other NaCl implementation
 */
export function checkComparable(
  baseline: Baseline,
  suites: readonly string[],
  nacl: Report["machine"]["nacl"],
): void {
  const missing = suites.filter((suite) => suiteOf(baseline, suite) === undefined);
  if (missing.length > 0) {
    const known = baseline.suites.map(({ suite }) => suite).join(", ") || "none";
    throw new Error(`has no results for ${missing.join(", ")}, only for ${known}`);
  }
  if (baseline.machine.nacl !== nacl) {
    throw new Error(
      `was measured with the ${baseline.machine.nacl} NaCl, but this run uses the ${nacl} one`,
    );
  }
}

function suiteOf(baseline: Baseline, name: string): BaselineSuite | undefined {
  return baseline.suites.find(({ suite }) => suite === name);
}

function pairUp(
  { suite, measurements: before }: BaselineSuite,
  after: readonly BaselineMeasurement[],
): [BaselineMeasurement, BaselineMeasurement][] {
  const key = ({ name, bytesPerOperation }: BaselineMeasurement): string =>
    bytesPerOperation === undefined ? `"${name}"` : `"${name}" of ${bytesPerOperation} bytes`;
  const known = new Map(before.map((measurement) => [key(measurement), measurement]));
  const found = new Map(after.map((measurement) => [key(measurement), measurement]));
  const onlyKnown = [...known.keys()].find((name) => !found.has(name));
  const onlyFound = [...found.keys()].find((name) => !known.has(name));
  if (onlyKnown !== undefined || onlyFound !== undefined) {
    const difference =
      onlyKnown === undefined
        ? `it has no ${onlyFound}, which this run measured`
        : `it has ${onlyKnown}, which this run did not measure`;
    throw new Error(
      `does not match in ${suite}: ${difference} (run both with the same sizes and options)`,
    );
  }
  return [...found].map(([name, measurement]) => [known.get(name)!, measurement]);
}

function timeChange(
  suite: string,
  before: BaselineMeasurement,
  after: BaselineMeasurement,
  tolerance: number,
): BaselineChange {
  const beyond = (later: number, earlier: number): boolean => later > earlier * (1 + tolerance);
  const verdict = beyond(after.interval.low, before.interval.high)
    ? "slower"
    : beyond(before.interval.low, after.interval.high)
      ? "faster"
      : "same";
  return {
    suite,
    name: after.name,
    what: "time",
    base: before.cost,
    now: after.cost,
    change: changeOf(before.cost, after.cost),
    tolerance,
    verdict,
  };
}

function countChanges(
  suite: string,
  before: BaselineMeasurement,
  after: BaselineMeasurement,
): BaselineChange[] {
  return COUNTERS.flatMap((what) => {
    const [base, now] = [before[what], after[what]];
    if (base === undefined && now === undefined) return [];
    if (base === undefined || now === undefined) {
      const side = base === undefined ? "the baseline" : "this run";
      throw new Error(
        `does not match in ${suite}: ${side} does not count ${what} of "${after.name}"`,
      );
    }
    const verdict = now > base ? "more" : now < base ? "less" : "same";
    const change = changeOf(base, now);
    return [{ suite, name: after.name, what, base, now, change, tolerance: 0, verdict }];
  });
}

/** Infinity if the base is 0 and the new value is not. */
function changeOf(base: number, now: number): number {
  return now === base ? 0 : now / base - 1;
}
