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
 * @throws the signal's reason
 */
export async function interleave<Task>(
  tasks: readonly Task[],
  { rounds, warmups = 1, signal }: Rounds,
  each: (task: Task, round: number) => Promise<unknown>,
): Promise<void> {
  for (let round = -warmups; round < rounds; round++) {
    const first = (round + warmups) % tasks.length;
    for (const task of [...tasks.slice(first), ...tasks.slice(0, first)]) {
      // Yields to the event loop: work that never waits for I/O would block Ctrl-C.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
      await each(task, round);
    }
  }
}

/**
 * Like `Promise.all`, but waits until all have ended before it throws the error of the first one in the list
 * that failed: the caller may then remove the folder or the objects that they use.
 */
export async function allEnded<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [Key in keyof T]: Awaited<T[Key]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/**
 * Processes items concurrently in a number of lanes. `work` receives the number of its lane. If it fails, no
 * lane takes another item, and the error is thrown when all have ended.
 */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, lane: number) => unknown,
): Promise<void> {
  const queue = items.values();
  let failed = false;
  const lane = async (_: unknown, index: number): Promise<void> => {
    for (const item of queue) {
      if (failed) return;
      try {
        await work(item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await allEnded(Array.from({ length: lanes }, lane));
}
