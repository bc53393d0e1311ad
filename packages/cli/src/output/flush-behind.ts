import type { Output } from "./output.ts";

/** Writes results soon after they are buffered, without a wait for each. */
export interface FlushBehind {
  /**
   * Begins to write what is buffered; if a write is in progress, when that ends, so that many results
   * that complete meanwhile share the next one.
   *
   * @throws the error of an earlier write
   */
  start(): void;
  /**
   * Waits until everything buffered before the last `start` is written.
   *
   * @throws the error of a write
   */
  settled(): Promise<void>;
}

/** @param onFailure called once, as soon as a write has failed */
export function flushBehind(
  out: Pick<Output, "flush">,
  onFailure: () => void = () => {},
): FlushBehind {
  let writing: Promise<void> | undefined;
  let again = false;
  let failure: { readonly error: unknown } | undefined;
  const write = async (): Promise<void> => {
    try {
      do {
        again = false;
        await out.flush();
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
      await writing;
      throwFailure();
    },
  };
}
