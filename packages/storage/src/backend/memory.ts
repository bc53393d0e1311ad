import { throwIfAborted } from "../abort.ts";
import { StorageError } from "../errors.ts";
import type { Backend, ListedBlob } from "./backend.ts";

/** Options of `memory`. */
export interface MemoryOptions {
  /**
   * How many bytes of deleted blobs' memory to keep for later blobs of the same length, because the
   * first write to a fresh page takes several times as long as a copy. By default 64 MiB.
   */
  readonly idleBytes?: number;
}

/** Keeps blobs in this process: for tests, caches and benchmarks. */
export function memory(options: MemoryOptions = {}): Backend {
  const { idleBytes = 64 * 2 ** 20 } = options;
  const blobs = new Map<string, Uint8Array>();
  const idle = new Map<number, Uint8Array[]>();
  let idleTotal = 0;

  const release = (name: string): void => {
    const bytes = blobs.get(name);
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
    const bytes = blobs.get(name);
    if (bytes === undefined) throw new StorageError("not-found", `memory holds no blob ${name}`);
    return bytes;
  };

  return {
    description: "memory",
    local: true,
    async put(name, bytes, { signal } = {}) {
      throwIfAborted(signal);
      release(name);
      const kept = reserve(bytes.length);
      kept.set(bytes);
      blobs.set(name, kept);
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
      const bytes = blobs.get(name);
      return bytes && { size: bytes.length };
    },
    async delete(name, { signal } = {}) {
      throwIfAborted(signal);
      release(name);
    },
    async *list(prefix, { signal } = {}): AsyncGenerator<ListedBlob> {
      for (const [name, bytes] of blobs) {
        throwIfAborted(signal);
        if (name.startsWith(prefix)) yield { name, size: bytes.length };
      }
    },
  };
}
