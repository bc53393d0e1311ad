import { openRunStore } from "./command/run-store.ts";
import { chooseStore } from "./command/store-url.ts";
import { emptyResult } from "./harness/results.ts";
import type { SuiteResult } from "./report/report.ts";
import { renderSuite } from "./report/table.ts";
import type { SuiteContext } from "./suite.ts";
import { suites } from "./suites.ts";

export interface RanSuite {
  /** "completed", or "skipped" with the reason. */
  readonly result: SuiteResult;
  /** The table that `idk bench` prints. */
  readonly table: string;
}

/**
 * Runs one suite as `idk bench NAME` does, without a baseline. If the suite needs an object store and
 * the context has none, it gets a new bucket on the server that the `MINIO_…` variables name. If they
 * name none, the suite is skipped.
 *
 * @throws Error if there is no such suite or the store cannot be used; whatever the suite throws
 */
export async function runSuite(
  name: string,
  context: Partial<SuiteContext> = {},
): Promise<RanSuite> {
  const suite = suites.find((suite) => suite.name === name);
  if (suite === undefined) throw new Error(`there is no suite "${name}"`);
  const env = context.env ?? process.env;
  const shown = (result: SuiteResult): RanSuite => ({ result, table: renderSuite(result) });
  const skipped = (reason: string): RanSuite =>
    shown(emptyResult(suite, { status: "skipped", reason }));
  const missing = suite.missing?.(env);
  if (missing !== undefined) return skipped(missing);
  const run = async (store: SuiteContext["store"]): Promise<RanSuite> =>
    shown(
      await suite.run({
        quick: false,
        env,
        seed: 1,
        signal: new AbortController().signal,
        log: () => {},
        ...context,
        store,
      }),
    );
  if (!suite.needsObjectStore || context.store !== undefined) return run(context.store);
  const choice = chooseStore(undefined, env);
  if (choice.kind === "none") return skipped(choice.reason);
  const store = await openRunStore(choice);
  try {
    return await run(store.access);
  } finally {
    await store.close();
  }
}
