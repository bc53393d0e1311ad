/** What the measuring scripts share; the harness proper will grow from here. */

/** Milliseconds that a piece of work takes. */
export async function milliseconds(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median with the smallest and largest value, for people. */
export function spread(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** Runs the tasks in turn, a round at a time, so that a slow moment of the machine meets all of them. */
export async function interleaved<Name extends string>(
  rounds: number,
  tasks: Record<Name, () => unknown>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(tasks) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      // So that no task pays for the garbage of the one before it.
      globalThis.Bun?.gc(true);
      const time = await milliseconds(tasks[name]);
      // The first round warms up caches, compilers and allocators.
      if (round >= 0) times[name].push(time);
    }
  }
  return times;
}
