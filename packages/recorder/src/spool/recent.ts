/**
 * Copies of blobs that were just written to the spool, so that most uploads need not read them back
 * and check what was read. Beyond a few MiB, and after a failure, uploads read the spool.
 */
export interface RecentBlobs {
  /** Copies a blob, if there is room. */
  keep(file: string, bytes: Uint8Array): void;
  /** The bytes of a blob, if they were kept. Its room is taken until it is given back or dropped. */
  take(file: string): Uint8Array<ArrayBuffer> | undefined;
  /** Nobody uses the bytes of a blob any more: their memory is used again. */
  giveBack(bytes: Uint8Array<ArrayBuffer>): void;
  /** An upload was given up, and may go on using the bytes that it took. */
  drop(bytes: Uint8Array<ArrayBuffer>): void;
  /** Forgets all blobs that nobody took. */
  clear(): void;
}

/** Bytes of memory. Two segments of a mebibyte, or one blob of the longest. */
const BYTES_MAX = 5 * 2 ** 20;
const EMPTY = Buffer.alloc(0);

export function createRecentBlobs(): RecentBlobs {
  const kept = new Map<string, Uint8Array<ArrayBuffer>>();
  /** Bytes of the memory of blobs and of `idle`. */
  let used = 0;
  /** Fresh memory takes longer to fault in than to copy to. */
  let idle = EMPTY;
  const setIdle = (memory: Buffer<ArrayBuffer>): void => {
    used -= idle.length;
    idle = memory;
  };
  const room = (length: number): Uint8Array<ArrayBuffer> | undefined => {
    // A root that only refers to a chunk leaves it to the chunk.
    if (idle.length >= length && idle.length <= 4 * length) {
      const memory = idle.subarray(0, length);
      idle = EMPTY;
      return memory;
    }
    if (used - idle.length + length > BYTES_MAX) return undefined;
    if (used + length > BYTES_MAX) setIdle(EMPTY);
    used += length;
    return Buffer.allocUnsafeSlow(length);
  };
  const release = (bytes: Uint8Array<ArrayBuffer>): void => {
    used -= bytes.buffer.byteLength;
  };
  return {
    keep(file, bytes) {
      const copy = room(bytes.length);
      if (copy === undefined) return;
      copy.set(bytes);
      kept.set(file, copy);
    },
    take(file) {
      const bytes = kept.get(file);
      kept.delete(file);
      return bytes;
    },
    giveBack(bytes) {
      if (bytes.buffer.byteLength > idle.length) setIdle(Buffer.from(bytes.buffer));
      else release(bytes);
    },
    drop: release,
    clear() {
      for (const bytes of kept.values()) release(bytes);
      kept.clear();
    },
  };
}
