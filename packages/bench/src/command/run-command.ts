import { relative } from "node:path";
import {
  type Baseline,
  COMMITTED,
  compareWithBaseline,
  missingFrom,
  readBaseline,
  updatedBaseline,
  writeBaseline,
} from "../baseline/baseline.ts";
import { annotationsOf } from "../report/annotations.ts";
import { paintFor } from "../report/draw.ts";
import { type Problem, problemsOf } from "../report/outcome.ts";
import type { Report, SuiteResult } from "../report/report.ts";
import { renderHead, renderOutcome, renderSuite } from "../report/table.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import type { RunSettings } from "./arguments.ts";
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
  const { files, updateBaseline, strict, quick, rtt } = settings;
  await checkWritable([
    ...Object.values(files),
    ...(updateBaseline ? [baselineFile(settings)] : []),
  ]);
  const choice = chooseStore(settings.store, env);
  const baseline = await openBaseline(settings);
  const head = {
    ...(await context.describeRun(quick, signal)),
    calibration: await context.calibrate(),
    ...(rtt !== undefined && { rtt }),
  };
  // A report on standard output is read by a program: print no tables.
  const tables = !Object.values(files).includes("-");
  const paint = paintFor(stdout, env);
  const show = async (text: string): Promise<void> => {
    if (tables) await stdout.print(`${text}\n\n`);
  };
  await show(renderHead(head, paint));
  const progress = createProgress(stderr, settings.verbose);
  const compared = (results: readonly SuiteResult[]): readonly SuiteResult[] =>
    baseline && !updateBaseline ? compareWithBaseline(results, baseline, head.machine) : results;
  const results = await withStore(settings, choice, progress.note, async (store) =>
    runSuites({
      settings,
      store,
      env,
      signal,
      progress,
      done: async (result) => {
        const [shown] = compared([result]);
        await show(renderSuite(shown!, paint, stdout.columns));
      },
    }),
  );

  const report: Report = { ...head, suites: compared(results) };
  const problems: Problem[] = [
    ...problemsOf(report, { strict, ci: Boolean(env["CI"]) }),
    ...(baseline && !updateBaseline && hasDefaults(settings)
      ? missingFrom(results, baseline).map((message) => ({ level: "failure" as const, message }))
      : []),
  ];
  await writeFiles(files, report, problems, (text) => stdout.print(text));
  if (updateBaseline !== undefined) {
    const updated = updatedBaseline(report, baseline, updateBaseline);
    await writeBaseline(baselineFile(settings), updated);
    await show(`the baseline was updated: ${baselineFile(settings)}`);
  }
  await show(renderOutcome(report.suites, problems, paint));
  if (env["GITHUB_ACTIONS"] === "true") {
    const text = baseline && (await Bun.file(baselineFile(settings)).text());
    const file = relative(env["GITHUB_WORKSPACE"] ?? ".", baselineFile(settings));
    const lines = annotationsOf(problems, text === undefined ? undefined : { file, text });
    for (const line of lines) stderr.write(`${line}\n`);
  }
  return problems.some(({ level }) => level === "failure") ? EXIT_CODES.failed : EXIT_CODES.done;
}

function baselineFile({ baseline = COMMITTED }: RunSettings): string {
  return baseline;
}

/** The baseline to compare with or to update, if there is one. */
async function openBaseline(settings: RunSettings): Promise<Baseline | undefined> {
  const { baseline, updateBaseline, quick, rtt } = settings;
  if (baseline === "none" || quick || rtt !== undefined) return undefined;
  const file = baselineFile(settings);
  const optional = baseline === undefined || updateBaseline !== undefined;
  return optional && !(await Bun.file(file).exists()) ? undefined : readBaseline(file);
}

/** Whether the run measures what the baseline was made with. */
function hasDefaults({ sizes, iterations, options }: RunSettings): boolean {
  return sizes === undefined && iterations === undefined && Object.keys(options).length === 0;
}

/** Opens the store if a suite needs one, and removes everything from it at the end. */
async function withStore<T>(
  { suites, prefix, rtt }: RunSettings,
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
    const { openRunStore } = await import("./run-store.ts");
    store = await openRunStore(choice, prefix);
  } catch (error) {
    // The store was requested, so this is a failure and not a reason to skip.
    return work({ status: "failed", reason: reasonOf(error) });
  }
  try {
    if (rtt === undefined) return await work({ access: store.access });
    const { withLatency } = await import("../object-store/latency.ts");
    return await withLatency(store.access, rtt, (access: ObjectStoreAccess) => work({ access }));
  } finally {
    await store.close().catch((error: unknown) => {
      const { bucket, prefix } = store.access;
      note(`idk bench: objects may be left in ${bucket}/${prefix}: ${reasonOf(error)}`);
    });
  }
}
