import { setImmediate } from "node:timers/promises";
import type { BodyExpectations } from "../body/plan.ts";
import type { CheckedBody } from "../body/read-body.ts";
import { S3Error } from "../errors.ts";
import type { Share } from "../objects/memory/budget.ts";
import type { IncomingBody } from "../objects/objects.ts";
import type { Request } from "./operation.ts";

/**
 * How long content may wait for memory, in ms: half of what clients allow. Then the answer is `SlowDown`,
 * with which clients wait longer, and send less at once.
 */
export const MEMORY_WAIT_MS = 30_000;

/** How long a body of XML may take, in ms: none of them is long. */
const XML_MS = 60_000;

/** Documents up to so many bytes, in or out, take no memory of the budget. Most are that short. */
export const SHORT_DOCUMENT: number = 64 * 1024;

/** A body that was read, and the memory that was taken for it, if it is long. */
export interface HeldBody {
  readonly body: Uint8Array;
  readonly share: Share | undefined;
}

/** Reads a body of XML as `readAndHold` does, and gives its memory back. */
export async function readAll(...given: Parameters<typeof readAndHold>): Promise<Uint8Array> {
  const { body, share } = await readAndHold(...given);
  share?.release();
  return body;
}

/**
 * Reads a body of XML. A long one takes memory of a budget once so much of it has come, and loses it while
 * others wait if the client stalls, or has had it for long: the length is only what the client announced.
 * Once it has been read, its memory is the caller's to release.
 *
 * @throws S3Error as `planBody` and `readBody` do; `RequestTimeout`, `SlowDown`
 */
export async function readAndHold(
  {
    body,
    documents,
    accessKey,
    signal,
  }: Pick<Request, "body" | "documents" | "accessKey" | "signal">,
  expectations: BodyExpectations,
  limitMs = XML_MS,
): Promise<HeldBody> {
  const { bytes, length } = body(expectations);
  const late = new AbortController();
  const giveUp = (code: "RequestTimeout" | "SlowDown"): void =>
    late.abort(new S3Error(code, undefined, { closesConnection: true }));
  const isLate = Promise.withResolvers<never>();
  late.signal.addEventListener("abort", () => isLate.reject(late.signal.reason));
  const timer = setTimeout(() => giveUp("RequestTimeout"), limitMs);
  let share = undefined as Share | undefined;

  const read = async (): Promise<HeldBody> => {
    let all = new Uint8Array(Math.min(length, SHORT_DOCUMENT));
    let at = 0;
    for await (const piece of bytes) {
      share?.busy();
      if (share?.isOver()) giveUp("SlowDown");
      late.signal.throwIfAborted();
      // A body that has its length: that is checked before its end.
      if (at + piece.length > length) throw new S3Error("IncompleteBody");
      if (at + piece.length > all.length) {
        // The body, and its text.
        share = await documents.acquire(
          { least: 3 * length, most: 3 * length },
          {
            signal: AbortSignal.any([signal, late.signal]),
            limitMs: MEMORY_WAIT_MS,
            owner: accessKey.id,
          },
        );
        share.onStall(() => giveUp("SlowDown"));
        const begun = all.subarray(0, at);
        all = new Uint8Array(length);
        all.set(begun);
      }
      all.set(piece, at);
      at += piece.length;
      share?.idle();
    }
    // It is parsed at once, which takes long: others have their turn between two.
    if (share !== undefined) await setImmediate();
    late.signal.throwIfAborted();
    share?.busy();
    share?.onStall(undefined);
    return { body: all, share };
  };
  try {
    return await Promise.race([read(), isLate.promise]);
  } catch (error) {
    share?.release();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** A body as the content of an object or part, with its digests as the catalog has them. */
export function contentOf(body: CheckedBody): IncomingBody {
  return {
    bytes: body.bytes,
    length: body.length,
    async digests() {
      const { md5, checksums } = await body.digests();
      return { md5: Buffer.from(md5).toString("hex"), checksums: checksums?.values ?? {} };
    },
  };
}
