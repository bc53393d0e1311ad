import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { codeOf, Failure, type FailureCode, worstOf } from "./failures.ts";

/** What goes wrong with single items while a command goes on with the others. */
export interface ItemFailures {
  readonly count: number;
  /**
   * Prints a failure at once and counts it.
   *
   * @throws the error itself where it is none of the item's: an interruption, or a bug
   */
  add(item: string, error: unknown): Promise<void>;
  /** @param items how many there were, for the message */
  throwIfAny(items: number): void;
}

export interface ItemFailure {
  readonly code: FailureCode;
  readonly message: string;
}

/** @param noun what an item is called, such as `blob` */
export function createItemFailures(
  { signal }: Session,
  noun: string,
  print: (item: string, failure: ItemFailure) => Promise<void>,
): ItemFailures {
  const codes: FailureCode[] = [];
  return {
    get count() {
      return codes.length;
    },
    async add(item, error) {
      const code = codeOf(error);
      if (signal.aborted || code === "unexpected" || !(error instanceof Error)) throw error;
      codes.push(code);
      await print(item, { code, message: error.message });
    },
    throwIfAny(items) {
      if (codes.length === 0) return;
      throw new Failure(worstOf(codes), `${codes.length} of ${count(items, noun)} failed`);
    },
  };
}

/**
 * Failures of items whose results others read from standard output: there they show with `--json`
 * alone, and otherwise on standard error.
 *
 * @param name what an item is called in JSON
 */
export function createListFailures(
  session: Session,
  noun: string,
  name: "address" | "file",
): ItemFailures {
  const { out } = session;
  return createItemFailures(session, noun, async (item, { code, message }) => {
    await out.report({ ok: false, [name]: item, error: { code, message } });
    await out.flush();
    if (out.json) return;
    await out.fault(`idk: ${message.includes(item) ? message : `${item}: ${message}`}`);
  });
}

/** Failures of blobs that are looked at for what is wrong with them: these are the results. */
export function createBlobFailures(session: Session): ItemFailures {
  const { out } = session;
  return createItemFailures(session, "blob", async (address, { code, message }) => {
    await out.result(`${address} ${code}: ${message}`, {
      ok: false,
      address,
      error: { code, message },
    });
    await out.flush();
  });
}
