import { emptyResult } from "../harness/results.ts";
import type { SuiteResult } from "../report/report.ts";
import type { Environment, ObjectStoreAccess, Suite, SuiteContext } from "../suite.ts";
import type { RunSettings } from "./arguments.ts";
import { optionsOf } from "./flags.ts";
import type { Progress } from "./progress.ts";

/** A store, or why there is none: "skipped" if none was configured, "failed" if it cannot be used. */
export type StoreOrReason =
  | { readonly access: ObjectStoreAccess }
  | { readonly status: "skipped" | "failed"; readonly reason: string };

export interface Run {
  readonly settings: Pick<
    RunSettings,
    "suites" | "quick" | "verbose" | "sizes" | "iterations" | "seed" | "options"
  >;
  readonly store: StoreOrReason;
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Called with each result as soon as it is available. */
  done(result: SuiteResult): Promise<void>;
}

/**
 * Runs suites one after another. If one fails, the rest continue.
 *
 * @throws the signal's reason, once the running suite has stopped
 */
export async function runSuites(run: Run): Promise<SuiteResult[]> {
  const { settings, signal, progress } = run;
  const results: SuiteResult[] = [];
  for (const [index, suite] of settings.suites.entries()) {
    signal.throwIfAborted();
    progress.begin(suite, index + 1, settings.suites.length);
    const result = await runSuite(suite, run);
    // A suite that ended because of the signal has not failed.
    signal.throwIfAborted();
    progress.end(result);
    await run.done(result);
    results.push(result);
  }
  return results;
}

async function runSuite(suite: Suite, run: Run): Promise<SuiteResult> {
  const { settings, store, signal, progress } = run;
  const { quick, sizes, iterations, seed } = settings;
  if (suite.needsObjectStore && "status" in store) return emptyResult(suite, store);
  const reason = suite.missing?.(run.env);
  if (reason !== undefined) return emptyResult(suite, { status: "skipped", reason });
  const context: SuiteContext = {
    quick,
    sizes,
    iterations,
    seed,
    signal,
    env: run.env,
    options: optionsOf(suite, settings.options),
    ...("access" in store && { store: store.access }),
    log: (line) => progress.log(line),
  };
  const start = performance.now();
  try {
    const result = await suite.run(context);
    checkNames(result);
    return result;
  } catch (error) {
    if (settings.verbose && error instanceof Error && !signal.aborted) {
      progress.log(error.stack ?? error.message);
    }
    const reason = reasonOf(error);
    return emptyResult(suite, { status: "failed", reason }, (performance.now() - start) / 1000);
  }
}

/** Baselines and charts find measurements, targets and counters by name. */
function checkNames({ measurements, targets, counters }: SuiteResult): void {
  for (const named of [measurements, [...targets, ...counters]]) {
    const names = named.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Error(`two results have the name "${twice}"`);
  }
}

/** One line, never empty. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.trim().replaceAll(/\s*\n\s*/gu, "; ") || "unknown error";
}
