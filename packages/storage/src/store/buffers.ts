/**
 * Buffers for whole blobs, used again. Fresh memory has to be faulted in page by page, which on
 * many machines costs as much as hashing it, and a collector that frees late makes memory grow;
 * with the same few buffers going round, both stay away.
 */
export interface BufferPool {
  /** A buffer of exactly this length, with any content. */
  acquire(length: number): Uint8Array<ArrayBuffer>;
  /** Gives a buffer back. The caller keeps no view of it. */
  release(buffer: Uint8Array<ArrayBuffer>): void;
}

/** @param idleBytes how much memory to hold on to while nothing needs it */
export function createBufferPool(idleBytes: number): BufferPool {
  const idle: Uint8Array<ArrayBuffer>[] = [];
  let idleTotal = 0;
  return {
    acquire(length) {
      const index = idle.findLastIndex((buffer) => buffer.length === length);
      if (index < 0) return allocate(length);
      const [buffer] = idle.splice(index, 1);
      idleTotal -= length;
      return buffer!;
    },
    release(buffer) {
      idle.push(buffer);
      idleTotal += buffer.length;
      while (idleTotal > idleBytes) idleTotal -= idle.shift()!.length;
    },
  };
}

/** Without zeroing, where the runtime can: every byte that is used later is written first. */
export function allocate(length: number): Uint8Array<ArrayBuffer> {
  if (typeof Buffer === "undefined") return new Uint8Array(length);
  // A plain array over it: what callers get is a Uint8Array and no Buffer.
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
}
