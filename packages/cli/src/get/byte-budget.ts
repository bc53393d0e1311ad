/** What bounds the bytes of content that are still to be fetched by work that has begun. */
export interface ByteBudget {
  /**
   * Starts work when what is left of the work before it leaves room, in the order of the calls. Work of any
   * length starts when no other is under way.
   *
   * @param bytes that the work has to fetch
   * @param work tells how many of them are left, so that the next begins before this one ends
   */
  run<T>(bytes: number, work: (left: (bytes: number) => void) => Promise<T>): Promise<T>;
}

/**
 * @param total bytes that all work may have left
 * @param each bytes that one counts at most, however many are left
 */
export function createByteBudget(total: number, each: number): ByteBudget {
  const waiting: { readonly bytes: number; readonly start: () => void }[] = [];
  let used = 0;
  let running = 0;
  const startNext = (): void => {
    for (;;) {
      const next = waiting[0];
      if (next === undefined || (running > 0 && used + next.bytes > total)) return;
      waiting.shift();
      used += next.bytes;
      running += 1;
      next.start();
    }
  };
  return {
    async run(bytes, work) {
      let held = Math.min(bytes, each);
      await new Promise<void>((start) => {
        waiting.push({ bytes: held, start });
        startNext();
      });
      const left = (rest: number): void => {
        const freed = held - Math.min(held, rest);
        held -= freed;
        used -= freed;
        if (freed > 0) startNext();
      };
      try {
        return await work(left);
      } finally {
        running -= 1;
        used -= held;
        startNext();
      }
    },
  };
}
