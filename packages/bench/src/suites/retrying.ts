import { StorageError } from "@idk/storage";
import type { SuiteContext } from "../suite.ts";

export interface Retrying {
  /**
   * Runs something, and again where it failed for a while only, after a moment.
   *
   * @returns seconds of the attempt that succeeded, by itself
   * @throws what the last attempt threw
   */
  run(work: () => Promise<void>): Promise<number>;
  /** Attempts that failed and were repeated. */
  count(): number;
}

/** @param retries for each run, 0 or more */
export function retrying(retries: number, { log }: Pick<SuiteContext, "log">): Retrying {
  let count = 0;
  return {
    async run(work) {
      for (let left = retries; ; left--) {
        const start = performance.now();
        try {
          await work();
          return (performance.now() - start) / 1000;
        } catch (error) {
          if (left === 0 || !(error instanceof StorageError && error.transient)) throw error;
          count += 1;
          log(`made again: ${error.message}`);
          await new Promise((resolve) => {
            setTimeout(resolve, 500);
          });
        }
      }
    },
    count: () => count,
  };
}
