import type { Output } from "./output.ts";

/** Writes results soon after they are buffered, without a wait for each. */
export interface FlushBehind {
  /**
   * Begins to write what is buffered; if a write is in progress or has just ended, some milliseconds after
   * that, so that many results that complete meanwhile share the next one.
   *
   * @throws the error of an earlier write
   */
  start(): void;
  /**
   * Waits until everything buffered before the last `start` is written, which begins at once.
   *
   * @throws the error of a write
   */
  settled(): Promise<void>;
}

/** Milliseconds between two writes: to write one result takes as long as to check a small blob. */
const PAUSE_MS = 10;

/** @param onFailure called once, as soon as a write has failed */
export function flushBehind(
  out: Pick<Output, "flush">,
  onFailure: () => void = () => {},
): FlushBehind {
  let writing: Promise<void> | undefined;
  let again = false;
  let isAwaited = false;
  let endPause = (): void => {};
  let failure: { readonly error: unknown } | undefined;
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, PAUSE_MS);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const write = async (): Promise<void> => {
    try {
      do {
        again = false;
        await out.flush();
        if (!isAwaited) await pause();
      } while (again);
    } catch (error) {
      failure = { error };
      onFailure();
    } finally {
      writing = undefined;
    }
  };
  const throwFailure = (): void => {
    if (failure !== undefined) throw failure.error;
  };
  return {
    start() {
      throwFailure();
      if (writing === undefined) writing = write();
      else again = true;
    },
    async settled() {
      isAwaited = true;
      endPause();
      await writing;
      isAwaited = false;
      throwFailure();
    },
  };
}
