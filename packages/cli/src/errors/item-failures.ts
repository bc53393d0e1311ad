import { isAddressOrPrefix } from "../blobs/address.ts";
import { isSecretNotPath, looksLikeSecret } from "../output/secrets.ts";
import { standardError } from "../output/standard-streams.ts";
import { count, printableMessage } from "../output/text.ts";
import type { Session } from "../session.ts";
import { codeOf, Failure, type FailureCode, messageOf, worstOf } from "./failures.ts";

/** Failures of single items of a command that continues with the others. */
export interface ItemFailures {
  readonly count: number;
  /**
   * Prints a failure at once and counts it.
   *
   * @throws the error itself if the item did not cause it: an interruption, or a bug
   */
  add(item: string, error: unknown): Promise<void>;
  /**
   * If standard error is a terminal, prints the failures again below what has been printed since. Does nothing if there
   * are few items.
   *
   * @param items their total number
   */
  repeat(items: number): Promise<void>;
  /** @param items their total number, for the message */
  throwIfAny(items: number): void;
}

/** As many lines as fit a terminal. */
const FEW = 20;

const SECRET = "the list has a line that looks like a secret key, not";

export interface ItemFailure {
  readonly code: FailureCode;
  /** One line, safe to print. */
  readonly message: string;
}

/**
 * @param noun an item's name in messages, such as `blob`
 * @param print returns its line on standard error, if it is to be repeated
 */
export function createItemFailures(
  { out, signal }: Session,
  noun: string,
  print: (item: string, failure: ItemFailure) => Promise<string | void>,
): ItemFailures {
  const codes: FailureCode[] = [];
  const lines: string[] = [];
  return {
    get count() {
      return codes.length;
    },
    async add(item, error) {
      const code = codeOf(error);
      if (signal.aborted || code === "unexpected" || !(error instanceof Error)) throw error;
      codes.push(code);
      const line = await print(item, { code, message: messageOf(error) });
      if (line !== undefined && lines.length < FEW) lines.push(line);
    },
    async repeat(items) {
      if (items <= FEW || lines.length === 0 || !standardError().terminal) return;
      const more = codes.length - lines.length;
      await out.note(`failed${more > 0 ? `, with ${more} more above` : ""}:`);
      for (const line of lines) await out.note(`  ${line}`);
    },
    throwIfAny(items) {
      if (codes.length === 0) return;
      throw new Failure(worstOf(codes), `${codes.length} of ${count(items, noun)} failed`);
    },
  };
}

/**
 * For commands whose standard output is read by programs: failures are printed there only with
 * `--json`, and otherwise on standard error.
 *
 * @param name the key of the item in JSON
 */
export function createListFailures(
  session: Session,
  noun: string,
  name: "address" | "file",
): ItemFailures {
  const { out } = session;
  return createItemFailures(session, noun, async (given, failure) => {
    const { item, code, message } = withoutSecret(given, failure, name);
    await out.report({ ok: false, [name]: item, error: { code, message } });
    await out.flush();
    if (out.json) return undefined;
    const line = item === OMITTED || message.includes(item) ? message : `${item}: ${message}`;
    await out.fault(`idk: ${line}`);
    return line;
  });
}

/** For commands that check blobs: the failures are results, on standard output. */
export function createBlobFailures(session: Session): ItemFailures {
  const { out } = session;
  return createItemFailures(session, "blob", async (given, failure) => {
    const { item, code, message } = withoutSecret(given, failure, "address");
    await out.result(`${printableMessage(item)} ${code}: ${message}`, {
      ok: false,
      address: item,
      error: { code, message },
    });
    await out.flush();
  });
}

const OMITTED = "…";

/** Omits an item that looks like a secret, which has no place in a list of addresses or files. */
function withoutSecret(
  item: string,
  { code, message }: ItemFailure,
  name: "address" | "file",
): ItemFailure & { readonly item: string } {
  const isSecret =
    name === "file" ? isSecretNotPath(item) : !isAddressOrPrefix(item) && looksLikeSecret(item);
  if (!isSecret) return { item, code, message };
  return { item: OMITTED, code, message: `${SECRET} ${name === "file" ? "a file" : "an address"}` };
}
