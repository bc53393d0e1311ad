import { StorageError } from "../../errors.ts";
import { accessHeaders } from "./encryption.ts";
import { type Answer, EMPTY_SHA256, exchange } from "./requests.ts";
import { blobAt, lengthIn, type Session, type Signal } from "./session.ts";

/** Downloads into the front of the buffer. */
export async function getBlob(
  { connection, place, learned }: Session,
  name: string,
  buffer: Uint8Array,
  signal: Signal,
): Promise<number> {
  const doing = `read ${blobAt(place, name)}`;
  return exchange(
    connection,
    place,
    {
      method: "GET",
      key: place.folder + name,
      headers: { "x-amz-content-sha256": EMPTY_SHA256, ...accessHeaders(place.encryption) },
      doing,
      signal,
    },
    async (answer) => {
      learned.bucketSeen = true;
      return readInto(buffer, answer, doing);
    },
    ({ code }) => {
      if (code === "NoSuchKey") learned.bucketSeen = true;
      return undefined;
    },
  );
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
    throw new StorageError(
      "unavailable",
      `cannot ${doing}: the answer ended after ${length} of ${promised} bytes; try again`,
      { transient: true },
    );
  }
  return length;
}
