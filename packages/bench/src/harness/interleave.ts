export interface Rounds {
  /** Measured ones, 1 or more. */
  readonly rounds: number;
  /** Unmeasured ones before them, for caches, compilers and allocators; by default 1. */
  readonly warmups?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Goes through tasks in turn, a round at a time, so that a slow moment of the machine meets all of
 * them. Each round begins with another one, so that none is always the first.
 *
 * @param each is told the round, from 0; below 0 while it warms up
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
 * To be passed between measurements: lets the event loop turn, and ends what was aborted. Work that
 * never waits for anything outside of the process would otherwise keep Ctrl-C from being heard.
 *
 * @throws the signal's reason
 */
export async function checkpoint(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}
