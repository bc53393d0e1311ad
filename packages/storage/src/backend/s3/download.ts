import { StorageError } from "../../errors.ts";
import { accessHeaders } from "./encryption.ts";
import { type Refusal, refusal } from "./errors.ts";
import { requireBucket } from "./look.ts";
import { type Answer, EMPTY_SHA256, exchange } from "./requests.ts";
import { blobAt, lengthIn, type Session, type Signal } from "./session.ts";

/** Downloads into the front of the buffer: the whole blob, or only what the buffer takes. */
export async function getBlob(
  session: Session,
  name: string,
  buffer: Uint8Array,
  signal: Signal,
  { prefixOnly = false }: { readonly prefixOnly?: boolean } = {},
): Promise<number> {
  const { connection, place, learned } = session;
  const doing = `read ${blobAt(place, name)}`;
  const found = await exchange<number | Refusal>(
    connection,
    place,
    {
      method: "GET",
      key: place.folder + name,
      headers: {
        "x-amz-content-sha256": EMPTY_SHA256,
        ...(prefixOnly && { range: `bytes=0-${Math.max(0, buffer.length - 1)}` }),
        ...accessHeaders(place.encryption),
      },
      doing,
      signal,
    },
    async (answer) => {
      learned.bucketSeen = true;
      return (prefixOnly ? readPrefix : readInto)(buffer, answer, doing);
    },
    (answer) => {
      // An empty blob has no first byte to begin a range with.
      if (prefixOnly && answer.status === 416) return 0;
      if (answer.code === "NoSuchKey") learned.bucketSeen = true;
      // Of a server that is no store at all, or has no words.
      return answer.status === 404 && answer.code === "" ? answer : undefined;
    },
  );
  if (typeof found === "number") return found;
  await requireBucket(session, signal);
  throw refusal(found, doing, place.bucket);
}

async function readInto(buffer: Uint8Array, answer: Answer, doing: string): Promise<number> {
  const tooLong = (): StorageError =>
    new StorageError("limit", `cannot ${doing}: it has more than ${buffer.length} bytes`);
  const promised = lengthIn(answer.headers);
  if (promised !== undefined && promised > buffer.length) {
    answer.abandon();
    throw tooLong();
  }
  let length = 0;
  for await (const piece of answer.pieces()) {
    if (length + piece.length > buffer.length) throw tooLong();
    buffer.set(piece, length);
    length += piece.length;
  }
  if (promised !== undefined && length !== promised) {
    throw cutShort(length, promised, doing);
  }
  return length;
}

function cutShort(length: number, promised: number, doing: string): StorageError {
  return new StorageError(
    "unavailable",
    `cannot ${doing}: the answer ended after ${length} of ${promised} bytes; try again`,
    { transient: true },
  );
}

/** Of a server that knows no ranges and sends everything, no more than fits is taken. */
async function readPrefix(buffer: Uint8Array, answer: Answer, doing: string): Promise<number> {
  const promised = lengthIn(answer.headers);
  let length = 0;
  for await (const piece of answer.pieces()) {
    const part = piece.subarray(0, buffer.length - length);
    buffer.set(part, length);
    length += part.length;
    if (length === buffer.length) return length;
  }
  if (promised !== undefined && length !== promised) throw cutShort(length, promised, doing);
  return length;
}
