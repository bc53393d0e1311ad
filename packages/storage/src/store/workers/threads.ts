import { usage } from "../../errors.ts";

const THREADS_MAX = 64;
/** Sealing is then faster than most disks and any wire. */
const THREADS_DEFAULT_MAX = 8;

/**
 * How many threads a store may use: as many as it is told, or one for each core.
 *
 * @returns 0 where the runtime has no threads, and by default where there is one core
 * @throws StorageError `usage`
 */
export function threadsOf(wanted: number | undefined): number {
  if (wanted !== undefined && (!Number.isInteger(wanted) || wanted < 0 || wanted > THREADS_MAX)) {
    throw usage(`workers must be an integer from 0 to ${THREADS_MAX}`);
  }
  const builtin = typeof process === "undefined" ? undefined : process.getBuiltinModule;
  if (builtin?.("node:worker_threads") === undefined) return 0;
  if (wanted !== undefined) return wanted;
  const cores = builtin("node:os").availableParallelism();
  return cores < 2 ? 0 : Math.min(cores, THREADS_DEFAULT_MAX);
}
