import { addressOf, type Backend, wrapBackend } from "@idk/storage";

/** Blobs of up to so many bytes are kept: the root of 1 GiB of content in chunks of 4 MiB. */
const KEPT_MAX = 20 * 1024;

/**
 * A backend that keeps small blobs which it has read: those are mostly the roots of content, which every
 * range of an object needs again. A blob never changes, and the store verifies and opens it each time.
 *
 * @param maxBytes of all blobs that are kept; the least recently used ones go first
 */
export function withRootCache(backend: Backend, maxBytes: number): Backend {
  const kept = new Map<string, Uint8Array>();
  let keptBytes = 0;
  const forget = (name: string): void => {
    keptBytes -= kept.get(name)?.length ?? 0;
    kept.delete(name);
  };
  const keep = (name: string, blob: Uint8Array): void => {
    forget(name);
    kept.set(name, blob);
    keptBytes += blob.length;
    for (const oldest of kept.keys()) {
      if (keptBytes <= maxBytes) break;
      forget(oldest);
    }
  };
  return wrapBackend(backend, {
    get: (get) => async (name, buffer, options) => {
      const blob = kept.get(name);
      if (blob !== undefined && blob.length <= buffer.length) {
        // The last one in the order of insertion is the one used last.
        keep(name, blob);
        buffer.set(blob);
        return blob.length;
      }
      const length = await get(name, buffer, options);
      if (length <= KEPT_MAX) {
        const copy = new Uint8Array(buffer.subarray(0, length));
        // One that was damaged on the way must not be kept: the store downloads it again.
        if (addressOf(copy) === name) keep(name, copy);
      }
      return length;
    },
    put:
      (put) =>
      async (name, ...rest) => {
        forget(name);
        await put(name, ...rest);
      },
    delete:
      (remove) =>
      async (name, ...rest) => {
        forget(name);
        await remove(name, ...rest);
      },
  });
}
