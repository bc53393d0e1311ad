import { throwIfAborted } from "../abort.ts";
import { StorageError } from "../errors.ts";
import {
  type Backend,
  type ListedBlob,
  type Marker,
  requireLimit,
  requireMarkerName,
} from "./backend.ts";

/** Options of `memory`. */
export interface MemoryOptions {
  /**
   * How many bytes of deleted blobs' memory to keep for later blobs of the same length, because the
   * first write to a fresh page takes several times as long as a copy. By default 64 MiB.
   */
  readonly idleBytes?: number;
  /**
   * The clock that dates blobs and markers, in milliseconds since 1970. By default this machine's; a
   * test can let days pass.
   */
  readonly now?: () => number;
}

interface Stored {
  readonly bytes: Uint8Array;
  readonly storedAt: number;
}

/** Keeps blobs in this process: for tests, caches and benchmarks. */
export function memory(options: MemoryOptions = {}): Backend {
  const { idleBytes = 64 * 2 ** 20, now = Date.now } = options;
  const blobs = new Map<string, Stored>();
  /** When each was stored. */
  const markers = new Map<string, number>();
  const idle = new Map<number, Uint8Array[]>();
  let idleTotal = 0;

  const release = (name: string): void => {
    const bytes = blobs.get(name)?.bytes;
    if (bytes === undefined) return;
    blobs.delete(name);
    if (idleTotal + bytes.length > idleBytes) return;
    idleTotal += bytes.length;
    const sameLength = idle.get(bytes.length);
    if (sameLength) sameLength.push(bytes);
    else idle.set(bytes.length, [bytes]);
  };

  const reserve = (length: number): Uint8Array => {
    const reused = idle.get(length)?.pop();
    if (reused === undefined) return new Uint8Array(length);
    idleTotal -= length;
    return reused;
  };

  const stored = (name: string): Uint8Array => {
    const found = blobs.get(name);
    if (found === undefined) throw new StorageError("not-found", `memory has no blob ${name}`);
    return found.bytes;
  };

  return {
    description: "memory",
    local: true,
    async put(name, bytes, { signal } = {}) {
      throwIfAborted(signal);
      release(name);
      const kept = reserve(bytes.length);
      kept.set(bytes);
      blobs.set(name, { bytes: kept, storedAt: now() });
    },
    async get(name, buffer, { signal } = {}) {
      throwIfAborted(signal);
      const bytes = stored(name);
      if (bytes.length > buffer.length) {
        throw new StorageError("limit", `the blob ${name} is longer than ${buffer.length} bytes`);
      }
      buffer.set(bytes);
      return bytes.length;
    },
    async getRange(name, offset, buffer, { signal } = {}) {
      throwIfAborted(signal);
      const part = stored(name).subarray(offset, offset + buffer.length);
      buffer.set(part);
      return part.length;
    },
    async head(name, { signal } = {}) {
      throwIfAborted(signal);
      const found = blobs.get(name);
      return found && { size: found.bytes.length, storedAt: found.storedAt };
    },
    async delete(name, { signal } = {}) {
      throwIfAborted(signal);
      release(name);
    },
    async *list(prefix, { signal } = {}): AsyncGenerator<ListedBlob> {
      for (const [name, { bytes, storedAt }] of blobs) {
        throwIfAborted(signal);
        if (name.startsWith(prefix)) yield { name, size: bytes.length, storedAt };
      }
    },
    async putMarker(name, { signal } = {}) {
      requireMarkerName(name);
      throwIfAborted(signal);
      if (!markers.has(name)) markers.set(name, now());
    },
    async *listMarkers(prefix, { signal, after = "", limit } = {}): AsyncGenerator<Marker> {
      requireLimit(limit);
      throwIfAborted(signal);
      const names = [...markers.keys()].filter((name) => name.startsWith(prefix) && name > after);
      let left = limit ?? Infinity;
      for (const name of names.toSorted()) {
        const storedAt = markers.get(name);
        // Deleted while the caller had the markers before it.
        if (storedAt === undefined) continue;
        yield { name, storedAt };
        throwIfAborted(signal);
        left -= 1;
        if (left === 0) return;
      }
    },
    async deleteMarker(name, { signal } = {}) {
      requireMarkerName(name);
      throwIfAborted(signal);
      markers.delete(name);
    },
    async currentTime({ signal } = {}) {
      throwIfAborted(signal);
      return now();
    },
  };
}
