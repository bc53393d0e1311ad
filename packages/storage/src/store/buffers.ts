/**
 * Reusable buffers for whole blobs. Fresh memory has to be faulted in page by page, which on many
 * machines costs as much as hashing it, and if the garbage collector frees it late, memory grows.
 *
 * A buffer is released only if nothing else can still be using it. After a call that failed it is
 * dropped instead, because the backend that borrowed it may still write to it.
 */
export interface BufferPool {
  /** A buffer of exactly this length, with arbitrary content. */
  acquire(length: number): Uint8Array<ArrayBuffer>;
  /** A buffer of at least this length, rounded up so that buffers can be reused. */
  acquireAtLeast(length: number): Uint8Array<ArrayBuffer>;
  /** Returns a buffer. The caller must keep no view of it. */
  release(buffer: Uint8Array<ArrayBuffer>): void;
}

/**
 * A pool that keeps at most as many bytes as `count` buffers of the largest requested length.
 *
 * @param count how many buffers are in use at once, now
 */
export function createBufferPool(count: () => number): BufferPool {
  const idle: Uint8Array<ArrayBuffer>[] = [];
  let idleBytes = 0;
  let longest = 0;
  const acquire = (length: number): Uint8Array<ArrayBuffer> => {
    longest = Math.max(longest, length);
    const index = idle.findLastIndex((buffer) => buffer.length === length);
    if (index < 0) return allocate(length);
    const [buffer] = idle.splice(index, 1);
    idleBytes -= length;
    return buffer!;
  };
  return {
    acquire,
    acquireAtLeast: (length) => acquire(2 ** Math.ceil(Math.log2(length))),
    release(buffer) {
      idle.push(buffer);
      idleBytes += buffer.length;
      while (idleBytes > count() * longest) idleBytes -= idle.shift()!.length;
    },
  };
}

/** Not zeroed if the runtime allows it: every byte is written before it is used. */
export function allocate(length: number): Uint8Array<ArrayBuffer> {
  if (typeof Buffer === "undefined") return new Uint8Array(length);
  // Callers get a plain Uint8Array, not a Buffer.
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
}
