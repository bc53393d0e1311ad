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

/** Processes items concurrently in a number of lanes. `work` receives the number of its lane. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, lane: number) => unknown,
): Promise<void> {
  const queue = items.values();
  const lane = async (_: unknown, index: number): Promise<void> => {
    for (const item of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
