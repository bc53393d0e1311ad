/** Has the disk write while more is still coming, so that the sync at the end finds little to do. */
export interface WriteBack {
  /** So many bytes more have been written. */
  wrote(bytes: number): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Enough for a disk to be worth waking, little against what a download takes in a second. */
const STEP = 32 * 2 ** 20;

/** @param sync fails without consequences: the sync that counts comes at the end, and says so too */
export function createWriteBack(sync: () => Promise<void>): WriteBack {
  let dirty = 0;
  let running: Promise<void> | undefined;
  return {
    wrote(bytes) {
      dirty += bytes;
      if (dirty < STEP || running !== undefined) return;
      dirty = 0;
      running = sync()
        .catch(() => {})
        .finally(() => (running = undefined));
    },
    idle: async () => running,
  };
}
