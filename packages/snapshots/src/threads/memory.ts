/** How much the memory of this process may grow before what is not needed any more is freed. */
const GROWTH = 2 ** 23;
/** How much longer than freeing takes what comes next, so that it never costs more than a twentieth. */
const SHARE = 20;

/** What a runtime says of the memory of this process, and frees. */
export interface Memory {
  /** Bytes. */
  used(): number;
  free(): void;
}

/**
 * Returns a function that frees what is not needed any more whenever memory has grown: the runtime would
 * let it grow with the memory of the host. To be called often, where little is in use.
 */
export function memoryKeeper(
  memory: Memory | undefined,
  clock: () => number = () => performance.now(),
): () => void {
  if (memory === undefined) return () => {};
  let least = memory.used();
  let next = 0;
  return () => {
    const used = memory.used();
    least = Math.min(least, used);
    const begun = clock();
    if (used - least < GROWTH || begun < next) return;
    memory.free();
    least = memory.used();
    const ended = clock();
    next = ended + SHARE * (ended - begun);
  };
}

/** Undefined for runtimes that have limits of their own. */
export async function memoryOfRuntime(): Promise<Memory | undefined> {
  if (!("bun" in process.versions)) return undefined;
  // Unlike Bun.gc, this leaves compiled code; unlike fullGC, it also gives back what is free at once.
  const { gcAndSweep } = await import("bun:jsc");
  return { used: () => process.memoryUsage.rss(), free: () => void gcAndSweep() };
}
