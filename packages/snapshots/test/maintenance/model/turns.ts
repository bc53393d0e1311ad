import type { Random } from "./random.ts";
import { type Backend, wrapBackend } from "@idk/storage";

/** The process was killed. */
export class Killed extends Error {}

/** A process whose requests take turns with those of others. */
export interface Process {
  readonly name: string;
  /** Settles when it has ended, however it has. */
  readonly ended: Promise<void>;
  isRunning(): boolean;
  /** What it waits for fails, and all that it asks for later; what is on its way may still arrive. */
  kill(): void;
}

export interface Turns {
  /** Starts a process with a backend of its own, each request of which waits for its turn. */
  start(name: string, backend: Backend, run: (backend: Backend) => Promise<void>): Process;
  /** Lets one of the requests go on. Returns false if none waits. */
  step(): Promise<boolean>;
  /** Whether requests of processes that were killed are still on their way. */
  hasStrays(): boolean;
}

interface Waiting {
  readonly process: { killed: boolean };
  readonly go: () => unknown;
  readonly fail: (error: Error) => void;
}

/** Everything that does not wait for a turn has run when this settles: nothing here is real I/O. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Of requests whose process has died. */
const STRAY = { killed: false };

/** @param onError is told of what strays do wrong */
export function turns(random: Random, onError: (error: unknown) => void): Turns {
  let waiting: Waiting[] = [];

  function gated(inner: Backend, process: { killed: boolean }): Backend {
    const turn = () =>
      new Promise<void>((go, fail) => {
        if (process.killed) fail(new Killed());
        else waiting.push({ process, go, fail });
      });
    const call =
      <Given extends unknown[], T>(method: (...given: Given) => Promise<T>) =>
      async (...given: Given): Promise<T> => {
        await turn();
        const result = await method(...given);
        // The answer takes its time, too.
        if (random.oneIn(4)) await turn();
        return result;
      };
    /** A request that changes something may arrive after its process has died. */
    const change =
      <Given extends unknown[]>(method: (...given: Given) => Promise<void>) =>
      async (...given: Given): Promise<void> => {
        try {
          await turn();
        } catch (error) {
          if (random.oneIn(2)) {
            waiting.push({
              process: STRAY,
              fail: () => undefined,
              go: () => method(...given).catch(onError),
            });
          }
          throw error;
        }
        await method(...given);
        if (random.oneIn(4)) await turn();
      };
    const listed = <Given extends unknown[], T>(method: (...given: Given) => AsyncIterable<T>) =>
      async function* listing(...given: Given): AsyncGenerator<T> {
        await turn();
        for await (const item of method(...given)) {
          yield item;
          // A listing takes several requests.
          if (random.oneIn(16)) await turn();
        }
      };
    return wrapBackend(inner, {
      get: call,
      getRange: call,
      put: change,
      delete: change,
      putMarker: change,
      deleteMarker: change,
      currentTime: call,
      list: listed,
      listMarkers: listed,
    });
  }

  return {
    start(name, backend, run) {
      const process = { killed: false };
      let running = true;
      const ended = run(gated(backend, process)).finally(() => {
        running = false;
      });
      // Reported when the schedule looks at it.
      ended.catch(() => undefined);
      return {
        name,
        ended,
        isRunning: () => running,
        kill() {
          process.killed = true;
          const ours = waiting.filter((one) => one.process === process);
          waiting = waiting.filter((one) => one.process !== process);
          for (const { fail } of ours) fail(new Killed());
        },
      };
    },
    hasStrays: () => waiting.some(({ process }) => process === STRAY),
    async step() {
      await settled();
      const [next] = waiting.splice(random.upTo(waiting.length - 1), 1);
      if (next === undefined) return false;
      next.go();
      // What the store does with it happens at one time.
      await settled();
      return true;
    },
  };
}
