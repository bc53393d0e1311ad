import { type FailureCode, worstOf } from "./exit-codes.ts";
import { Failure, codeOf } from "./failures.ts";
import type { Session } from "./session.ts";
import { count } from "./text.ts";

/** What goes wrong with single blobs while a command goes on with the others. */
export interface BlobFailures {
  readonly count: number;
  /**
   * Prints a failure at once and counts it.
   *
   * @throws the error itself where it is none of the blob's: an interruption, or a bug
   */
  add(address: string, error: unknown): Promise<void>;
  /** @param blobs how many there were, for the message */
  throwIfAny(blobs: number): void;
}

export function createBlobFailures({ out, signal }: Session): BlobFailures {
  const codes: FailureCode[] = [];
  return {
    get count() {
      return codes.length;
    },
    async add(address, error) {
      const code = codeOf(error);
      if (signal.aborted || code === "unexpected" || !(error instanceof Error)) throw error;
      codes.push(code);
      const { message } = error;
      await out.result(`${address} ${code}: ${message}`, {
        ok: false,
        address,
        error: { code, message },
      });
      await out.flush();
    },
    throwIfAny(blobs) {
      if (codes.length === 0) return;
      throw new Failure(worstOf(codes), `${codes.length} of ${count(blobs, "blob")} failed`);
    },
  };
}
