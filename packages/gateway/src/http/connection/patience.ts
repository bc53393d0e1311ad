/**
 * How long one side waits for the other. Waiting uses it up, and bytes that pass bring it back, so a
 * client that stalls and one that trickles are both given up on, and a slow one that moves is not.
 */
export interface Patience {
  /** Bytes have passed. */
  gain(bytes: number): void;
  /**
   * Waits for an event.
   *
   * @param subscribe calls `done` when it happens; returns what unsubscribes
   * @returns false if there was no patience left
   */
  wait(subscribe: (done: () => void) => () => void): Promise<boolean>;
}

/** What clients are allowed. */
export interface PatienceOptions {
  /** How long a client may send or take nothing, in ms. */
  readonly stallMs: number;
  /** The least it must send or take, over that time, in bytes per second. */
  readonly minRate: number;
}

export const CLIENT_PATIENCE: PatienceOptions = { stallMs: 30_000, minRate: 1024 };

export function createPatience({ stallMs, minRate }: PatienceOptions): Patience {
  let left = stallMs;
  return {
    gain(bytes) {
      left = Math.min(stallMs, left + (1000 * bytes) / minRate);
    },
    async wait(subscribe) {
      const start = performance.now();
      const inTime = await new Promise<boolean>((resolve) => {
        let unsubscribe: (() => void) | undefined;
        const finish = (result: boolean): void => {
          clearTimeout(timer);
          unsubscribe?.();
          resolve(result);
        };
        const timer = setTimeout(() => finish(false), Math.max(0, left));
        unsubscribe = subscribe(() => finish(true));
      });
      left -= performance.now() - start;
      return inTime;
    },
  };
}
