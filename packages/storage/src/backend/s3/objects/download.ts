import type { ErrorResponse } from "../../http/errors.ts";
import { rangeHeader, readRange, readWhole } from "../../http/read-blob.ts";
import { describeObject, type BucketContext } from "../bucket-context.ts";
import { readHeaders } from "../encryption.ts";
import { bucketError } from "../http/errors.ts";
import { sendRequest } from "../http/requests.ts";
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
        ...(offset !== undefined && rangeHeader(offset, buffer)),
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
  throw bucketError(result, action, config.bucket);
}
