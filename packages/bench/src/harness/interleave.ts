export interface Rounds {
  /** Measured rounds, 1 or more. */
  readonly rounds: number;
  /** Unmeasured rounds before them, to warm up caches, compilers and allocators; by default 1. */
  readonly warmups?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs all tasks in each round, so that a slow moment of the machine affects all of them. Each round
 * starts with another task, so that none is always first.
 *
 * @param each receives the round, counted from 0; negative rounds are warm-ups
 */
export async function interleave<Task>(
  tasks: readonly Task[],
  { rounds, warmups = 1, signal }: Rounds,
  each: (task: Task, round: number) => Promise<unknown>,
): Promise<void> {
  for (let round = -warmups; round < rounds; round++) {
    for (const task of rotated(tasks, round + warmups)) {
      await checkpoint(signal);
      await each(task, round);
    }
  }
}

export function rotated<T>(items: readonly T[], by: number): T[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

/**
 * Yields to the event loop between measurements and throws if the run was aborted. Without it, work
 * that never waits for I/O would block Ctrl-C.
 *
 * @throws the signal's reason
 */
export async function checkpoint(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}

/** Processes items concurrently in a number of lanes. `work` receives the number of its lane. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, lane: number) => unknown,
): Promise<void> {
  let next = 0;
  const lane = async (_: unknown, index: number): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) await work(items[i]!, index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
