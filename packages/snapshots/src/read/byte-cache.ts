/** Keeps what was used last, up to a number of bytes. */
export interface ByteCache<T> {
  get(key: string): T | undefined;
  /** @param bytes what the value takes; the newest is kept even if it alone is beyond the budget */
  set(key: string, value: T, bytes: number): void;
}

/** A cache that drops what was not used for the longest time. */
export function byteCache<T>(budget: number): ByteCache<T> {
  const entries = new Map<string, { readonly value: T; readonly bytes: number }>();
  let total = 0;
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      // A Map keeps the order of insertion.
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, bytes) {
      total += bytes - (entries.get(key)?.bytes ?? 0);
      entries.delete(key);
      entries.set(key, { value, bytes });
      for (const [oldest, entry] of entries) {
        if (total <= budget || oldest === key) break;
        entries.delete(oldest);
        total -= entry.bytes;
      }
    },
  };
}
