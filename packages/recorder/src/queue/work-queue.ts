import type { Work } from "../redact/contract.ts";

/** Works on items in order, a few milliseconds at a time. */
export interface WorkQueue<Item> {
  push(item: Item): void;
  /** Resolves when all items that were pushed before are done. */
  drained(): Promise<void>;
}

/**
 * @param workMs milliseconds of work in a row, before the event loop gets its turn
 * @param work called for each item; it must not throw
 */
export function createWorkQueue<Item>(
  workMs: number,
  work: (item: Item) => Work<void>,
): WorkQueue<Item> {
  let items: (Item | undefined)[] = [];
  let next = 0;
  let current: Work<void> | undefined;
  let scheduled = false;
  let waiting: (() => void)[] = [];

  const schedule = (): void => {
    scheduled = true;
    setImmediate(run);
  };
  const run = (): void => {
    const end = performance.now() + workMs;
    do {
      if (current === undefined) {
        if (next === items.length) break;
        const item = items[next]!;
        // Otherwise it stays in memory until the queue is empty.
        items[next] = undefined;
        next += 1;
        current = work(item);
      }
      if (current.next().done) current = undefined;
    } while (performance.now() < end);
    if (current !== undefined || next < items.length) {
      // The list must not grow for ever because the queue is never empty.
      if (next > 1024) {
        items = items.slice(next);
        next = 0;
      }
      schedule();
      return;
    }
    items = [];
    next = 0;
    scheduled = false;
    const resolved = waiting;
    waiting = [];
    for (const resolve of resolved) resolve();
  };

  return {
    push(item) {
      items.push(item);
      if (!scheduled) schedule();
    },
    drained: () =>
      new Promise((resolve) => {
        if (!scheduled) resolve();
        else waiting.push(resolve);
      }),
  };
}
