/** Prints in order what is reported by calls that do not wait for the output. */
export interface PrintQueue {
  /**
   * Queues what is to be printed. After one has failed, nothing more is printed.
   *
   * @returns a promise if so many are queued that the caller should wait before it reports more. It never
   *   rejects
   */
  add(print: () => Promise<void>): Promise<void> | undefined;
  /**
   * Waits until everything is printed.
   *
   * @throws the error of the one that failed
   */
  settled(): Promise<void>;
}

/** How many are queued before callers should wait: each takes about half a KiB. */
export const QUEUED_MAX = 1024;

export function printQueue(): PrintQueue {
  let queued = 0;
  let printed = Promise.resolve();
  return {
    add(print) {
      queued += 1;
      printed = printed.then(print).finally(() => {
        queued -= 1;
      });
      // Awaited in the end; until then a rejection must not count as unhandled.
      const settled = printed.catch(() => undefined);
      return queued > QUEUED_MAX ? settled : undefined;
    },
    settled: () => printed,
  };
}
