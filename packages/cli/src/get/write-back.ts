/** Has the disk write while more is still coming, so that the sync at the end finds little to do. */
export interface WriteBack {
  /** So many bytes more have been written. */
  wrote(bytes: number): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /**
   * Waits likewise.
   *
   * @throws the error of the first sync that failed. The system reports what it could not write to
   *   one sync of an open file, and lets the next one succeed
   */
  assertGood(): Promise<void>;
}

/** Enough for a disk to be worth waking, little against what a download takes in a second. */
const STEP = 32 * 2 ** 20;

export function createWriteBack(sync: () => Promise<void>): WriteBack {
  let dirty = 0;
  let running: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  return {
    wrote(bytes) {
      dirty += bytes;
      if (dirty < STEP || running !== undefined) return;
      dirty = 0;
      running = sync()
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => (running = undefined));
    },
    idle: async () => running,
    async assertGood() {
      await running;
      if (failure !== undefined) throw failure.error;
    },
  };
}
