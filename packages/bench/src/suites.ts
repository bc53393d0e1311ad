/** All suites, in the order in which they are run. */
import type { Suite, SuiteContext } from "./suite.ts";
import { type Findings, suiteResult } from "./harness/results.ts";

type Measure = (context: SuiteContext) => Promise<Findings>;

/** A suite whose code, and all it imports, is loaded when it runs: `--list` takes no SDK. */
function lazy(
  about: Omit<Suite, "run" | "needsObjectStore"> & { readonly needsObjectStore?: true },
  load: () => Promise<Measure>,
): Suite {
  return {
    needsObjectStore: false,
    ...about,
    async run(context) {
      const measure = await load();
      const start = performance.now();
      return suiteResult(about, start, await measure(context));
    },
  };
}

export const suites: readonly Suite[] = [
  lazy(
    { name: "hash-perf", title: "SHA-256 of blobs, against a bare createHash" },
    async () => (await import("./suites/hash-perf.ts")).hashPerf,
  ),
];
