/** Bytes that runtimes take, rounded up: for an object or array, a member or item, and a text. */
const CONTAINER_BYTES = 64;
const ITEM_BYTES = 16;
const TEXT_BYTES = 32;

/** About how many bytes of memory a value takes that was parsed from JSON. */
export function memoryOf(value: unknown): number {
  let bytes = 0;
  // Not by recursion, because it may have any number of levels.
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next === "string") bytes += TEXT_BYTES + 2 * next.length;
    else if (typeof next === "object" && next !== null) {
      const items: unknown[] = Object.values(next);
      bytes += CONTAINER_BYTES + ITEM_BYTES * items.length;
      for (const item of items) rest.push(item);
    }
  }
  return bytes;
}
