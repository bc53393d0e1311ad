import { emptyResult } from "../harness/results.ts";
import type { SuiteResult } from "../report/report.ts";
import type { ObjectStoreAccess, Suite } from "../suite.ts";
import type { RunSettings } from "./arguments.ts";
import type { BenchContext } from "./context.ts";
import { optionsOf } from "./flags.ts";
import type { Progress } from "./progress.ts";

/** A store, or why there is none: "skipped" if none was configured, "failed" if it cannot be used. */
export type StoreOrReason =
  | { readonly access: ObjectStoreAccess }
  | { readonly status: "skipped" | "failed"; readonly reason: string };

interface Run extends Pick<BenchContext, "env" | "signal"> {
  readonly settings: RunSettings;
  readonly store: StoreOrReason;
  readonly progress: Progress;
}

/**
 * Runs suites one after another. If one fails, the rest continue.
 *
 * @throws the signal's reason, once the running suite has stopped
 */
export async function* runSuites(run: Run): AsyncGenerator<SuiteResult, void> {
  const { settings, signal, progress } = run;
  for (const [index, suite] of settings.suites.entries()) {
    signal.throwIfAborted();
    progress.begin(suite, index + 1, settings.suites.length);
    const result = await runSuite(suite, run);
    // A suite that ended because of the signal has not failed.
    signal.throwIfAborted();
    progress.end(result);
    yield result;
  }
}

async function runSuite(suite: Suite, run: Run): Promise<SuiteResult> {
  const { settings, store, signal, progress, env } = run;
  const { quick, sizes, iterations, seed, verbose } = settings;
  if (suite.needsObjectStore && "status" in store) return emptyResult(suite, store);
  const missing = suite.missing?.(env);
  if (missing !== undefined) return emptyResult(suite, { status: "skipped", reason: missing });
  const log = (line: string): void => progress.log(line);
  const options = optionsOf(suite, settings.options);
  const access = "access" in store && { store: store.access };
  const start = performance.now();
  try {
    const context = { quick, sizes, iterations, seed, signal, env, options, log, ...access };
    const result = await suite.run(context);
    checkNames(result);
    return result;
  } catch (error) {
    if (verbose && error instanceof Error && !signal.aborted) log(error.stack ?? error.message);
    const why = { status: "failed", reason: reasonOf(error) } as const;
    return emptyResult(suite, why, (performance.now() - start) / 1000);
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
