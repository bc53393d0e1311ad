import { openRunStore } from "./command/run-store.ts";
import { chooseStore } from "./command/store-url.ts";
import { calibrate } from "./harness/calibration.ts";
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
 * Runs one suite as `idk bench NAME` does. If the suite needs an object store and the context has
 * none, it gets a new bucket on the server that the `MINIO_…` variables name. If they name none, the
 * suite is skipped.
 *
 * @throws Error if there is no such suite or the store cannot be used; whatever the suite throws
 */
export async function runSuite(
  name: string,
  context: Partial<SuiteContext> = {},
): Promise<RanSuite> {
  const suite = suites.find((suite) => suite.name === name);
  if (suite === undefined) throw new Error(`there is no suite "${name}"`);
  const calibration = await calibrate();
  const run = async (store: SuiteContext["store"]): Promise<RanSuite> => {
    const result = await suite.run({
      quick: false,
      seed: 1,
      signal: new AbortController().signal,
      log: () => {},
      ...context,
      store,
    });
    return { result, table: renderSuite(result, calibration) };
  };
  if (!suite.needsObjectStore || context.store !== undefined) return run(context.store);
  const choice = chooseStore(undefined, process.env);
  if (choice.kind === "none") {
    const result = emptyResult(suite, { status: "skipped", reason: choice.reason });
    return { result, table: renderSuite(result, calibration) };
  }
  const store = await openRunStore(choice);
  try {
    return await run(store.access);
  } finally {
    await store.close();
  }
}
