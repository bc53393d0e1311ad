/** A body that is read in portions, with pauses between them while its memory is used by others. */
export interface Source {
  /**
   * Reads until at least so many bytes are held, the body has ended, or `interrupt` is called.
   *
   * @throws what the body throws
   */
  gather(length: number): Promise<void>;
  /** Bytes held. */
  held(): number;
  /** Whether the body has ended, and all its checks have passed. Some of it may still be held. */
  hasEnded(): boolean;
  /** The held bytes, which are the caller's from then on. */
  take(): Uint8Array<ArrayBuffer>;
  /** The next piece, valid until the next call; undefined at the end, or if interrupted. */
  next(): Promise<Uint8Array | undefined>;
  /** Makes the call that waits for the body return; nothing is lost. */
  interrupt(): void;
  /** Ends the body early, without waiting for it. */
  cancel(): void;
}

type Pulled = IteratorResult<Uint8Array> | undefined;

/**
 * @param signal rejects the call that waits for the body
 */
export function createSource(bytes: AsyncIterable<Uint8Array>, signal?: AbortSignal): Source {
  const iterator = bytes[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<Uint8Array>> | undefined;
  let wake: ((nothing: undefined) => void) | undefined;
  let fail: ((error: Error) => void) | undefined;
  let ended = false;
  let buffer = new Uint8Array(0);
  let filled = 0;
  const abort = (): void => fail?.(signal!.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });

  /** A pull that was interrupted goes on: the next call gets its result. */
  const pull = (): Promise<Pulled> =>
    new Promise<Pulled>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      wake = resolve;
      fail = reject;
      pending ??= iterator.next();
      pending.then(
        (result) => {
          // Another call waits for it now.
          if (wake === resolve) {
            pending = wake = fail = undefined;
            resolve(result);
          }
          return undefined;
        },
        // Kept, so that every later call rejects as well: it must never pass for the end.
        reject,
      );
    });

  const next = async (): Promise<Uint8Array | undefined> => {
    while (!ended) {
      const pulled = await pull();
      if (pulled === undefined) return undefined;
      if (pulled.done === true) ended = true;
      else if (pulled.value.length > 0) return pulled.value;
    }
    return undefined;
  };

  const hold = (piece: Uint8Array, wanted: number): void => {
    if (filled + piece.length > buffer.length) {
      const grown = new Uint8Array(
        Math.max(filled + piece.length, Math.min(wanted, 2 * buffer.length)),
      );
      grown.set(buffer.subarray(0, filled));
      buffer = grown;
    }
    buffer.set(piece, filled);
    filled += piece.length;
  };

  return {
    held: () => filled,
    hasEnded: () => ended,
    next,
    async gather(length) {
      while (filled < length) {
        const piece = await next();
        if (piece === undefined) return;
        hold(piece, length);
      }
    },
    take() {
      const taken = buffer.subarray(0, filled);
      buffer = new Uint8Array(0);
      filled = 0;
      return taken;
    },
    interrupt() {
      wake?.(undefined);
      wake = fail = undefined;
    },
    cancel() {
      signal?.removeEventListener("abort", abort);
      if (ended) return;
      ended = true;
      // Not awaited: the body may never respond. An error from it comes too late to matter.
      Promise.resolve(iterator.return?.()).catch(() => {});
    },
  };
}
