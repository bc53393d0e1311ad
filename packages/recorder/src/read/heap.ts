/** A binary heap: takes its items in order, whatever the order in which they were added. */
export interface Heap<T> {
  readonly size: number;
  first(): T | undefined;
  add(item: T): void;
  take(): T | undefined;
}

/** @param compare negative if the first one comes first */
export function createHeap<T>(compare: (a: T, b: T) => number): Heap<T> {
  const items: T[] = [];
  const swap = (a: number, b: number): void => {
    [items[a], items[b]] = [items[b]!, items[a]!];
  };
  const comesBefore = (a: number, b: number): boolean => compare(items[a]!, items[b]!) < 0;
  return {
    get size() {
      return items.length;
    },
    first: () => items[0],
    add(item) {
      let at = items.push(item) - 1;
      for (let parent; at > 0 && comesBefore(at, (parent = (at - 1) >> 1)); at = parent) {
        swap(at, parent);
      }
    },
    take() {
      const [first] = items;
      const last = items.pop();
      if (items.length === 0) return first;
      items[0] = last!;
      for (let at = 0; ;) {
        const left = 2 * at + 1;
        if (left >= items.length) return first;
        const right = left + 1;
        const child = right < items.length && comesBefore(right, left) ? right : left;
        if (!comesBefore(child, at)) return first;
        swap(at, child);
        at = child;
      }
    },
  };
}
