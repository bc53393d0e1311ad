import { type BaselineChange, confirmed, isRegression, slowerSuites } from "../baseline/compare.ts";
import { renderChanges } from "../baseline/render.ts";
import { createCalibrator } from "../harness/calibration.ts";
import { paintFor } from "../report/draw.ts";
import type { Report, SuiteResult } from "../report/report.ts";
import { renderHead, renderOutcome, renderSuite } from "../report/table.ts";
import type { Suite } from "../suite.ts";
import type { RunSettings } from "./arguments.ts";
import { readBaselineFile } from "./baseline-file.ts";
import type { BenchContext } from "./context.ts";
import { createProgress } from "./progress.ts";
import type { RunStore } from "./run-store.ts";
import { type StoreOrReason, reasonOf, runSuites } from "./run-suites.ts";
import { type StoreChoice, chooseStore } from "./store-url.ts";
import { EXIT_CODES } from "./usage.ts";
import { checkWritable, writeFiles } from "./write-files.ts";

/**
 * Runs the chosen suites and writes every requested report.
 *
 * @returns the exit code
 * @throws Usage, if possible before anything is measured; the signal's reason
 */
export async function runCommand(settings: RunSettings, context: BenchContext): Promise<number> {
  const { stdout, stderr, env, signal } = context;
  const { suites, files } = settings;
  await checkWritable(Object.values(files));
  const choice = chooseStore(settings.store, env);
  const baseline = await readBaselineFile(settings);
  const runInfo = await context.describeRun(settings.quick, signal);
  const possible = suites.filter((suite) => !suite.needsObjectStore || choice.kind !== "none");
  baseline?.check(possible, runInfo.machine.nacl);
  const recalibrate = createCalibrator(context.calibrate);
  let calibration = await recalibrate();

  // A report on standard output is read by a program: print no tables.
  const tables = !Object.values(files).includes("-");
  const paint = paintFor(stdout, env);
  const show = async (text: string): Promise<void> => {
    if (tables) await stdout.print(`${text}\n\n`);
  };
  await show(renderHead({ ...runInfo, calibration }, paint));
  const progress = createProgress(stderr, settings.verbose);
  let first: BaselineChange[] | undefined;
  const results = await withStore(settings, choice, progress.note, async (store) => {
    const run = (suites: readonly Suite[]): Promise<SuiteResult[]> =>
      runSuites({
        settings: { ...settings, suites },
        store,
        signal,
        progress,
        async done(result) {
          calibration = await recalibrate();
          // Uses the calibrations so far; files use those of the whole run.
          await show(renderSuite(result, calibration, paint, stdout.columns));
        },
      });
    const once = await run(suites);
    first = baseline?.tryCompare({ ...runInfo, calibration, suites: once });
    const slower = slowerSuites(first ?? []);
    if (slower.size === 0) return once;
    progress.note(`slower than the baseline, running again: ${[...slower].join(", ")}`);
    const again = await run(suites.filter(({ name }) => slower.has(name)));
    return once.map((result) => again.find(({ suite }) => suite === result.suite) ?? result);
  });

  const report: Report = { ...runInfo, calibration, suites: results };
  await show(renderOutcome(results, paint));
  let changes: BaselineChange[] | undefined;
  try {
    const second = baseline?.compare(report);
    changes = second && confirmed(first ?? second, second);
  } finally {
    // Even if the baseline does not match: keep the measurements.
    await writeFiles(files, report, changes, (text) => stdout.print(text));
  }
  if (changes) await show(renderChanges(changes, paint));
  return exitCode(report, changes ?? [], Boolean(env["CI"]));
}

/** Opens the store if a suite needs one, and removes everything from it at the end. */
async function withStore<T>(
  { suites, prefix }: RunSettings,
  choice: StoreChoice,
  note: (line: string) => void,
  work: (store: StoreOrReason) => Promise<T>,
): Promise<T> {
  if (choice.kind === "none" || !suites.some(({ needsObjectStore }) => needsObjectStore)) {
    const reason = choice.kind === "none" ? choice.reason : "no store was opened";
    return work({ status: "skipped", reason });
  }
  let store: RunStore;
  try {
    // Loads the SDK, which other suites do not need.
    const { openRunStore } = await import("./run-store.ts");
    store = await openRunStore(choice, prefix);
  } catch (error) {
    // The store was requested, so this is a failure and not a reason to skip.
    return work({ status: "failed", reason: reasonOf(error) });
  }
  try {
    return await work(store);
  } finally {
    await store.close().catch((error: unknown) => {
      const { bucket, prefix } = store.access;
      note(`idk bench: objects may be left in ${bucket}/${prefix}: ${reasonOf(error)}`);
    });
  }
}

function exitCode(
  { suites, quick }: Report,
  changes: readonly BaselineChange[],
  ci: boolean,
): (typeof EXIT_CODES)["done" | "failed"] {
  const bad = suites.some(
    ({ status, targets }) =>
      status === "failed" ||
      // Nobody reads a CI log for skipped suites.
      (ci && status === "skipped") ||
      // A few rounds show that it works, not how fast it is.
      (!quick && targets.some(({ met }) => !met)),
  );
  return bad || changes.some(isRegression) ? EXIT_CODES.failed : EXIT_CODES.done;
}
