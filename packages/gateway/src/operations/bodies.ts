import type { BodyExpectations } from "../body/plan.ts";
import type { CheckedBody } from "../body/read-body.ts";
import { S3Error } from "../errors.ts";
import type { IncomingBody } from "../objects/objects.ts";
import type { Request } from "./operation.ts";

/**
 * How long content may wait for memory, in ms: half of what clients allow. Then the answer is `SlowDown`,
 * with which clients wait longer, and send less at once.
 */
export const MEMORY_WAIT_MS = 30_000;

/** How long a body of XML may take, in ms: none of them is long. */
const XML_MS = 60_000;

/**
 * Reads a body of XML. It takes memory of a budget, and loses it if the client stalls while others wait.
 *
 * @throws S3Error as `planBody` and `readBody` do; `RequestTimeout`, `SlowDown`
 */
export async function readAll(
  { body, documents, signal }: Pick<Request, "body" | "documents" | "signal">,
  expectations: BodyExpectations,
  limitMs = XML_MS,
): Promise<Uint8Array> {
  const { bytes, length } = body(expectations);
  if (length === 0) return readInto(bytes, new Uint8Array(0));
  // The body, and its text.
  const share = await documents.acquire({ least: 3 * length, most: 3 * length }, { signal });
  const late = Promise.withResolvers<never>();
  const giveUp = (code: "RequestTimeout" | "SlowDown"): void =>
    late.reject(new S3Error(code, undefined, { closesConnection: true }));
  late.promise.catch(() => {});
  const timer = setTimeout(() => giveUp("RequestTimeout"), limitMs);
  share.onStall(() => giveUp("SlowDown"));
  const idling = async function* (): AsyncGenerator<Uint8Array> {
    share.idle();
    for await (const piece of bytes) {
      share.busy();
      yield piece;
      share.idle();
    }
    share.busy();
  };
  try {
    return await Promise.race([readInto(idling(), new Uint8Array(length)), late.promise]);
  } finally {
    clearTimeout(timer);
    share.release();
  }
}

/** A body that has its length: that is checked before its end. */
async function readInto(bytes: AsyncIterable<Uint8Array>, all: Uint8Array): Promise<Uint8Array> {
  let at = 0;
  for await (const piece of bytes) {
    if (at + piece.length > all.length) throw new S3Error("IncompleteBody");
    all.set(piece, at);
    at += piece.length;
  }
  return all;
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
