import { StorageError } from "../../../errors.ts";
import { readHeaders } from "../encryption.ts";
import { type ErrorResponse, responseError } from "../http/errors.ts";
import { contentLength, sendRequest, type S3Response } from "../http/requests.ts";
import { describeObject, type BucketContext } from "../bucket-context.ts";
import { requireBucket } from "./bucket.ts";

/**
 * Downloads into the beginning of the buffer.
 *
 * @param offset where to start, to download only as much as fits; by default the whole blob
 */
export async function getBlob(
  bucket: BucketContext,
  name: string,
  buffer: Uint8Array,
  signal: AbortSignal | undefined,
  offset?: number,
): Promise<number> {
  const { config, features } = bucket;
  const action = `read ${describeObject(config, name)}`;
  const result = await sendRequest<number | ErrorResponse>(
    bucket,
    {
      method: "GET",
      key: config.keyPrefix + name,
      headers: {
        ...(offset !== undefined && {
          range: `bytes=${offset}-${offset + Math.max(0, buffer.length - 1)}`,
        }),
        ...readHeaders(config.encryption),
      },
      action,
      signal,
    },
    async (response) => {
      features.bucketExists = true;
      return offset === undefined
        ? readWhole(buffer, response, action)
        : readRange(buffer, offset, response, action);
    },
    (error) => {
      // The range begins at or beyond the end of the blob.
      if (offset !== undefined && error.status === 416) return 0;
      if (error.code === "NoSuchKey") features.bucketExists = true;
      // A 404 without a code does not say whether the blob or the bucket is missing.
      return error.status === 404 && error.code === "" ? error : undefined;
    },
  );
  if (typeof result === "number") return result;
  await requireBucket(bucket, signal);
  throw responseError(result, action, config.bucket);
}

async function readWhole(
  buffer: Uint8Array,
  response: S3Response,
  action: string,
): Promise<number> {
  const tooLong = (): StorageError =>
    new StorageError("limit", `cannot ${action}: it is longer than ${buffer.length} bytes`);
  const announced = contentLength(response.headers);
  if (announced !== undefined && announced > buffer.length) {
    response.cancel();
    throw tooLong();
  }
  let length = 0;
  for await (const chunk of response.chunks()) {
    if (length + chunk.length > buffer.length) throw tooLong();
    buffer.set(chunk, length);
    length += chunk.length;
  }
  if (announced !== undefined && length !== announced) throw truncated(length, announced, action);
  return length;
}

/** Reads no more than fits, even if the server ignores ranges and sends the whole blob. */
async function readRange(
  buffer: Uint8Array,
  offset: number,
  response: S3Response,
  action: string,
): Promise<number> {
  const announced = contentLength(response.headers);
  const [, start] = /^bytes (\d{1,15})-/u.exec(response.headers.get("content-range") ?? "") ?? [];
  let before = offset - Number(start ?? 0);
  if (before < 0) {
    response.cancel();
    throw new StorageError("unavailable", `cannot ${action}: the server sent another range`);
  }
  let received = 0;
  let length = 0;
  for await (const chunk of response.chunks()) {
    received += chunk.length;
    const part = chunk.subarray(before, before + buffer.length - length);
    before = Math.max(0, before - chunk.length);
    buffer.set(part, length);
    length += part.length;
    if (length === buffer.length) return length;
  }
  if (announced !== undefined && received !== announced)
    throw truncated(received, announced, action);
  return length;
}

function truncated(length: number, announced: number, action: string): StorageError {
  return new StorageError(
    "unavailable",
    `cannot ${action}: the response ended after ${length} of ${announced} bytes; try again`,
    { transient: true },
  );
}
