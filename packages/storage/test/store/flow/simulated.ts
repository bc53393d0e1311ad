import { type Backend, StorageError } from "../../../src/index.ts";
import type { Clock } from "../../../src/backend/retry.ts";
import { untilAborted } from "../../../src/abort.ts";
import { memory } from "../../../src/backend/memory.ts";

/** Time that passes only while all code waits, so that minutes take milliseconds. */
export interface VirtualClock extends Clock {
  /** Runs the work to its end. */
  run<T>(work: Promise<T>): Promise<T>;
}

/** @param seed of the randomness */
export function virtualClock(seed = 1): VirtualClock {
  const timers: { readonly at: number; readonly fire: () => void }[] = [];
  let time = 0;
  let state = seed;
  const wait = (ms: number) =>
    new Promise<void>((fire) => {
      const at = time + ms;
      const index = timers.findIndex((timer) => timer.at > at);
      timers.splice(index < 0 ? timers.length : index, 0, { at, fire });
    });
  return {
    now: () => time,
    // A linear congruential generator: Knuth, The Art of Computer Programming, 3.3.4, MMIX.
    random() {
      state = Number((BigInt(state) * 6364136223846793005n + 1442695040888963407n) % 2n ** 53n);
      return state / 2 ** 53;
    },
    sleep: (ms, signal) => untilAborted(wait(ms), signal),
    async run(work) {
      let ended = false;
      const end = () => void (ended = true);
      work.then(end, end);
      for (;;) {
        // What is ready runs before time passes.
        await new Promise((resolve) => setImmediate(resolve));
        if (ended) return work;
        const timer = timers.shift();
        if (timer === undefined) throw new Error("the work waits for nothing");
        time = timer.at;
        timer.fire();
      }
    },
  };
}

/** A store to simulate. */
export interface Link {
  /** Milliseconds. */
  readonly roundTrip: number;
  /** Bytes per millisecond of the line, or of the processor: one transfer at a time. */
  readonly rate: number;
  /** Bytes per millisecond of one connection; by default as fast as the line. */
  readonly connectionRate?: number;
  /** The share by which a transfer may take longer or shorter, at random; by default 0. */
  readonly jitter?: number;
  /** Whether a request that arrives at this time, with so many others in progress, gets a 503. */
  readonly refuses?: (now: number, running: number) => boolean;
  /** Milliseconds for which a request that arrives at this time gets no response. */
  readonly stall?: (now: number) => number;
}

/** A backend behind the link, and what it saw. */
export interface SimulatedStore {
  readonly backend: Backend;
  readonly seen: { running: number; most: number; calls: number; refused: number; sum: number };
}

/** Blobs take the time of their length; they come from `inner`, which takes none. */
export function simulatedStore(
  clock: Clock,
  link: Link,
  inner: Backend = memory(),
): SimulatedStore {
  const { roundTrip, rate, connectionRate = rate, jitter = 0 } = link;
  const seen = { running: 0, most: 0, calls: 0, refused: 0, sum: 0 };
  let lineFree = 0;
  const transfer = async <T>(
    bytes: number,
    signal: AbortSignal | undefined,
    call: () => Promise<T>,
  ): Promise<T> => {
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    seen.calls += 1;
    seen.sum += seen.running;
    try {
      await clock.sleep(roundTrip / 2, signal);
      if (link.refuses?.(clock.now(), seen.running) === true) {
        seen.refused += 1;
        await clock.sleep(roundTrip / 2, signal);
        throw new StorageError("unavailable", "503", { transient: true });
      }
      await clock.sleep(link.stall?.(clock.now()) ?? 0, signal);
      const factor = 1 + jitter * (2 * clock.random() - 1);
      lineFree = Math.max(lineFree, clock.now()) + (factor * bytes) / rate;
      const own = (factor * bytes) / connectionRate;
      await clock.sleep(Math.max(lineFree - clock.now(), own) + roundTrip / 2, signal);
      return await call();
    } finally {
      seen.running -= 1;
    }
  };
  const backend: Backend = {
    ...inner,
    put: (name, bytes, options) =>
      transfer(bytes.length, options?.signal, () => inner.put(name, bytes, options)),
    get: async (name, buffer, options) => {
      const { size } = (await inner.head(name))!;
      return transfer(size, options?.signal, () => inner.get(name, buffer, options));
    },
  };
  return { backend, seen };
}
