/** Starts syncs during a download, so that the final sync has little left to write. */
export interface WriteBack {
  /** Counts written bytes. */
  wrote(bytes: number): void;
  /** Resolves when no sync is running. */
  idle(): Promise<void>;
  /**
   * Waits until no sync is running.
   *
   * @throws the error of the first sync that failed, because the system reports a write error to
   *   one sync of an open file only, and the next one succeeds
   */
  assertGood(): Promise<void>;
}

/** Large enough for one disk write, small compared with a second of download. */
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
