import { access, constants, stat, writeFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import {
  type Baseline,
  COMMITTED,
  compareWithBaseline,
  missingFrom,
  notCompared,
  readBaseline,
  updatedBaseline,
  writeBaseline,
} from "../baseline/baseline.ts";
import { suiteIdentity } from "../harness/identity.ts";
import { annotationsOf } from "../report/annotations.ts";
import { paintFor } from "../report/draw.ts";
import { renderMarkdown } from "../report/markdown.ts";
import { type Problem, describeRun, problemsOf } from "../report/outcome.ts";
import type { Report, SuiteResult } from "../report/report.ts";
import { renderOutcome, renderSuite } from "../report/table.ts";
import { type Reason, confirmed, isDoubtful, runSuite } from "../run-suite.ts";
import type { Suite } from "../suite.ts";
import { type RunSettings, hasDefaults } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { beginProgress } from "./progress.ts";
import type { RunStore } from "./run-store.ts";
import { type StoreChoice, chooseStore } from "./store-url.ts";
import { EXIT_CODES, Usage, reasonOf } from "./usage.ts";

/**
 * Runs the chosen suites and writes every requested report.
 *
 * @returns the exit code
 * @throws Usage, if possible before anything is measured; the signal's reason
 */
export async function runCommand(settings: RunSettings, context: BenchContext): Promise<number> {
  const { stdout, stderr, env, signal } = context;
  const { updateBaseline, strict, quick, rtt, rate, envFile, json, html, markdown } = settings;
  if (envFile !== undefined) {
    const { readEnvFile } = await import("./env-file.ts");
    for (const [name, value] of Object.entries(await readEnvFile(envFile))) env[name] ??= value;
  }
  const files = [json, html, markdown];
  const baselineFile = settings.baseline ?? COMMITTED;
  await checkWritable(updateBaseline ? [...files, baselineFile] : files);
  const choice = chooseStore(settings.store, env);
  await suiteIdentity(env);
  const previous = await openBaseline(settings, baselineFile);
  const baseline = updateBaseline === undefined ? previous : undefined;
  const head = {
    ...(await context.describeRun(quick, signal)),
    ...(rtt !== undefined && { rtt }),
    ...(rate !== undefined && { rate }),
  };
  const paint = paintFor(stdout, env);
  const show = async (text: string): Promise<void> => {
    // A report on standard output is read by a program: print no tables.
    if (!files.includes("-")) await stdout.print(`${text}\n\n`);
  };
  const has = settings.suites.some(({ name }) => baseline?.suites[name]);
  const note = baseline && has ? notCompared(baseline, head.machine) : undefined;
  await show([...describeRun(head), ...(note ? [note] : [])].join("\n"));
  const suites = await runSuites(settings, context, choice, {
    judge: (result) => (baseline ? compareWithBaseline(result, baseline, head.machine) : result),
    show: (result) => show(renderSuite(result, paint, stdout.columns)),
  });
  const report: Report = { ...head, suites };
  const gone = baseline && hasDefaults(settings) ? missingFrom(suites, baseline) : [];
  const problems: Problem[] = [
    ...problemsOf(report, { strict, ci: Boolean(env["CI"]) }),
    ...gone.map((message) => ({ level: "failure" as const, message })),
    ...(note ? [{ level: "warning" as const, message: note }] : []),
  ];
  const write = async (file: string | undefined, render: () => unknown): Promise<void> => {
    if (file === undefined) return;
    const text = String(await render());
    await (file === "-" ? stdout.print(text) : writeFile(file, text));
  };
  // JSON first, because all other files can be generated from it. Loaded late, for a small heap.
  await write(json, async () => (await import("../report/report.ts")).renderJson(report));
  await write(markdown, () => renderMarkdown(report, problems));
  await write(html, async () => (await import("../report/html.ts")).renderHtml(report, problems));
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

/**
 * Checks before anything is measured that the files can be written.
 *
 * @throws Usage
 */
export async function checkWritable(files: readonly (string | undefined)[]): Promise<void> {
  for (const file of files) {
    if (file === undefined || file === "-") continue;
    const found = await stat(file).catch(() => undefined);
    if (found?.isDirectory()) throw new Usage(`cannot write ${file}: it is a folder`);
    await access(found ? file : dirname(file), constants.W_OK).catch((cause: unknown) => {
      const why = found ? "permission denied" : "its folder does not exist or is not writable";
      throw new Usage(`cannot write ${file}: ${why}`, { cause });
    });
  }
}

/** The baseline to compare with or to update, if there is one. */
async function openBaseline(
  { baseline, updateBaseline, quick, rtt, rate }: RunSettings,
  file: string,
): Promise<Baseline | undefined> {
  if (baseline === "none" || quick || (rtt ?? rate) !== undefined) return undefined;
  const optional = baseline === undefined || updateBaseline !== undefined;
  return optional && !(await Bun.file(file).exists()) ? undefined : readBaseline(file);
}

/** What is done with the result of each suite. */
interface Results {
  /** Adds what it is compared with. */
  judge(result: SuiteResult): SuiteResult;
  show(result: SuiteResult): Promise<void>;
}

/**
 * Runs suites one after another, and once more, when all are done, those that take seconds and missed a
 * time. If one fails, the rest continue.
 *
 * @throws the signal's reason, once the running suite has stopped
 */
async function runSuites(
  settings: RunSettings,
  { env, signal, stderr }: BenchContext,
  choice: StoreChoice,
  { judge, show }: Results,
): Promise<SuiteResult[]> {
  const { suites, quick, sizes, iterations, rtt, rate, seed, options, verbose } = settings;
  const store = await openStore(settings, choice);
  const [access, reason] = "access" in store ? [store.access, undefined] : [undefined, store];
  const run = async (suite: Suite, at: string, also: (result: SuiteResult) => SuiteResult) => {
    signal.throwIfAborted();
    const { log, end } = beginProgress(stderr, verbose, suite, at);
    const given = { quick, sizes, iterations, rtt, rate, seed, options, env, signal, log };
    const measured = await runSuite(suite, { ...given, store: access }, reason);
    // A suite that ended because of the signal has not failed.
    signal.throwIfAborted();
    const judged = judge(measured);
    end(judged);
    const result = also(judged);
    await show(result);
    return result;
  };
  try {
    const results: SuiteResult[] = [];
    for (const [index, suite] of suites.entries()) {
      results.push(await run(suite, `${index + 1}/${suites.length}`, (result) => result));
    }
    for (const [index, first] of results.entries()) {
      const suite = suites[index]!;
      if (quick || suite.slow || !first.targets.some(isDoubtful)) continue;
      results[index] = await run(suite, "again", (second) => confirmed(first, second));
    }
    return results;
  } finally {
    if ("access" in store) {
      await store.close().catch((error: unknown) => {
        const { bucket, prefix } = store.access;
        const message = `objects may be left in ${bucket}/${prefix}: ${reasonOf(error)}`;
        stderr.write(`idk bench: ${message}\n`);
      });
    }
  }
}

/** Opens the store if a suite needs it. */
async function openStore(
  { suites, prefix, rtt, rate }: RunSettings,
  choice: StoreChoice,
): Promise<RunStore | Reason> {
  if (choice.kind === "none") return { status: "skipped", reason: choice.reason };
  if (!suites.some(({ needsObjectStore }) => needsObjectStore)) {
    return { status: "skipped", reason: "no store was opened" };
  }
  const { openRunStore } = await import("./run-store.ts");
  return openRunStore(choice, prefix, { rtt, rate }).catch((error: unknown) => {
    if (error instanceof Usage) throw error;
    // The store was requested, so this is a failure and not a reason to skip.
    return { status: "failed", reason: reasonOf(error) } as const;
  });
}
