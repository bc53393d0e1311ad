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
import { suiteIdentity } from "../harness/identity.ts";
import { annotationsOf } from "../report/annotations.ts";
import { paintFor } from "../report/draw.ts";
import { type Problem, describeRun, problemsOf } from "../report/outcome.ts";
import type { Report, SuiteResult } from "../report/report.ts";
import { renderOutcome, renderSuite } from "../report/table.ts";
import type { RunSettings } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { type Progress, createProgress } from "./progress.ts";
import { type StoreOrReason, reasonOf, runSuites } from "./run-suites.ts";
import { type StoreChoice, chooseStore } from "./store-url.ts";
import { EXIT_CODES, Usage } from "./usage.ts";
import { checkWritable, writeFiles } from "./write-files.ts";

/**
 * Runs the chosen suites and writes every requested report.
 *
 * @returns the exit code
 * @throws Usage, if possible before anything is measured; the signal's reason
 */
export async function runCommand(settings: RunSettings, context: BenchContext): Promise<number> {
  const { stdout, stderr, env, signal } = context;
  const { updateBaseline, strict, quick, rtt, envFile, json, html, markdown } = settings;
  if (envFile !== undefined) {
    const { readEnvFile } = await import("./env-file.ts");
    for (const [name, value] of Object.entries(await readEnvFile(envFile))) env[name] ??= value;
  }
  const files = [json, html, markdown];
  const baselineFile = settings.baseline ?? COMMITTED;
  if (updateBaseline !== undefined && !hasDefaults(settings)) {
    throw new Usage("--update-baseline takes no sizes, rounds, --rtt or options of suites");
  }
  await checkWritable(updateBaseline ? [...files, baselineFile] : files);
  const choice = chooseStore(settings.store, env);
  await suiteIdentity(env);
  const previous = await openBaseline(settings, baselineFile);
  const baseline = updateBaseline === undefined ? previous : undefined;
  const head = {
    ...(await context.describeRun(quick, signal)),
    calibration: await context.calibrate(),
    ...(rtt !== undefined && { rtt }),
  };
  const paint = paintFor(stdout, env);
  const show = async (text: string): Promise<void> => {
    // A report on standard output is read by a program: print no tables.
    if (!files.includes("-")) await stdout.print(`${text}\n\n`);
  };
  await show(describeRun(head).join("\n"));
  const progress = createProgress(stderr, settings.verbose);
  const suites: SuiteResult[] = [];
  await withStore(settings, choice, progress, async (store) => {
    for await (const result of runSuites({ settings, store, env, signal, progress })) {
      const compared = baseline ? compareWithBaseline(result, baseline, head.machine) : result;
      await show(renderSuite(compared, paint, stdout.columns));
      suites.push(compared);
    }
  });
  const report: Report = { ...head, suites };
  const gone = baseline && hasDefaults(settings) ? missingFrom(suites, baseline) : [];
  const problems: Problem[] = [
    ...problemsOf(report, { strict, ci: Boolean(env["CI"]) }),
    ...gone.map((message) => ({ level: "failure" as const, message })),
  ];
  await writeFiles(settings, report, problems, (text) => stdout.print(text));
  if (updateBaseline !== undefined) {
    await writeBaseline(baselineFile, updatedBaseline(report, previous, updateBaseline));
    await show(`the baseline was updated: ${baselineFile}`);
  }
  await show(renderOutcome(report, problems, paint));
  if (env["GITHUB_ACTIONS"] === "true") {
    const file = relative(env["GITHUB_WORKSPACE"] ?? ".", baselineFile);
    const committed = baseline && { file, text: await Bun.file(baselineFile).text() };
    for (const line of annotationsOf(problems, committed)) stderr.write(`${line}\n`);
  }
  return problems.some(({ level }) => level === "failure") ? EXIT_CODES.failed : EXIT_CODES.done;
}

/** The baseline to compare with or to update, if there is one. */
async function openBaseline(
  { baseline, updateBaseline, quick, rtt }: RunSettings,
  file: string,
): Promise<Baseline | undefined> {
  if (baseline === "none" || quick || rtt !== undefined) return undefined;
  const optional = baseline === undefined || updateBaseline !== undefined;
  return optional && !(await Bun.file(file).exists()) ? undefined : readBaseline(file);
}

/** Whether the run measures what baselines are made with. */
function hasDefaults({ sizes, iterations, rtt, options }: RunSettings): boolean {
  return (sizes ?? iterations ?? rtt) === undefined && Object.keys(options).length === 0;
}

/** Opens the store if a suite needs one, and removes everything from it at the end. */
async function withStore(
  { suites, prefix, rtt }: RunSettings,
  choice: StoreChoice,
  progress: Progress,
  work: (store: StoreOrReason) => Promise<void>,
): Promise<void> {
  if (choice.kind === "none") return work({ status: "skipped", reason: choice.reason });
  if (!suites.some(({ needsObjectStore }) => needsObjectStore)) {
    return work({ status: "skipped", reason: "no store was opened" });
  }
  const { openRunStore } = await import("./run-store.ts");
  const store = await openRunStore(choice, prefix).catch(reasonOf);
  // The store was requested, so this is a failure and not a reason to skip.
  if (typeof store === "string") return work({ status: "failed", reason: store });
  const { access } = store;
  try {
    if (rtt === undefined) return await work({ access });
    const { withRoundTrip } = await import("../object-store/latency.ts");
    await using far = await withRoundTrip(access.endpoint, rtt);
    await work({ access: { ...access, endpoint: far.endpoint } });
  } finally {
    await store.close().catch((error: unknown) => {
      const where = `${access.bucket}/${access.prefix}`;
      progress.note(`idk bench: objects may be left in ${where}: ${reasonOf(error)}`);
    });
  }
}
