/**
 * Buffers for whole blobs, used again. Fresh memory has to be faulted in page by page, which on
 * many machines costs as much as hashing it, and a collector that frees late makes memory grow;
 * with the same few buffers going round, both stay away.
 *
 * A buffer is released only where nothing else can be using it any more: after a call that failed
 * it is dropped, because whoever it was lent to may be late to notice.
 */
export interface BufferPool {
  /** A buffer of exactly this length, with any content. */
  acquire(length: number): Uint8Array<ArrayBuffer>;
  /** A buffer with room for this length: of few different lengths, so that they fit again. */
  acquireAtLeast(length: number): Uint8Array<ArrayBuffer>;
  /** Gives a buffer back. The caller keeps no view of it. */
  release(buffer: Uint8Array<ArrayBuffer>): void;
}

/**
 * A pool that holds on to as much as goes round: `count` buffers of the largest length asked for.
 *
 * @param count how many buffers of one length are in use at once
 */
export function createBufferPool(count: number): BufferPool {
  const idle: Uint8Array<ArrayBuffer>[] = [];
  let idleBytes = 0;
  let idleBytesMax = 0;
  const acquire = (length: number): Uint8Array<ArrayBuffer> => {
    idleBytesMax = Math.max(idleBytesMax, count * length);
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
      while (idleBytes > idleBytesMax) idleBytes -= idle.shift()!.length;
    },
  };
}

/** Without zeroing, where the runtime can: every byte that is used later is written first. */
export function allocate(length: number): Uint8Array<ArrayBuffer> {
  if (typeof Buffer === "undefined") return new Uint8Array(length);
  // A plain array over it: what callers get is a Uint8Array and no Buffer.
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
}
