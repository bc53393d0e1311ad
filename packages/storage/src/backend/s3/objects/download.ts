import { throwIfAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import type { ReadCallOptions } from "../../backend.ts";
import type { ErrorResponse } from "../../http/errors.ts";
import { rangeHeader, readRange, readWhole } from "../../http/read-blob.ts";
import type { HttpResponse } from "../../http/response.ts";
import { describeObject, type BucketContext } from "../bucket-context.ts";
import { readHeaders } from "../encryption.ts";
import { bucketError } from "../http/errors.ts";
import { sendRequest } from "../http/requests.ts";
import { requireBucket } from "./bucket.ts";
import { headBlob } from "./head.ts";

/** Options of `getBlob`. */
interface GetOptions extends Pick<ReadCallOptions, "signal" | "onReceived"> {
  /** Where to start, to download only as much as fits; by default the whole blob. */
  readonly offset?: number | undefined;
}

/**
 * Downloads into the beginning of the buffer.
 *
 * @throws StorageError `address`, transient, if the server has the blob but cannot read it, and others
 */
export async function getBlob(
  bucket: BucketContext,
  name: string,
  buffer: Uint8Array,
  options: GetOptions,
): Promise<number> {
  const attempt = newAttempt();
  const { signal, offset } = options;
  try {
    return await download(bucket, name, buffer, { ...options, attempt });
  } catch (error) {
    const isDamage =
      !signal?.aborted && (await isDamaged(bucket, name, { offset, signal, attempt }));
    // An abort ends the further request, too, which then looks like damage.
    throwIfAborted(signal);
    if (!isDamage) throw error;
    throw new StorageError(
      "address",
      `cannot read ${describeObject(bucket.config, name)}: the server has it and cannot return its ` +
        "bytes, so they are probably damaged on its disks; store the content again, or copy the blob " +
        "from another store",
      { cause: error, transient: true },
    );
  }
}

/** How far a download came. */
interface Attempt {
  /** The server responded that it cannot read the object. */
  unreadable: boolean;
  /** Bytes of the response. */
  received: number;
  /** The connection failed during the response. */
  broke: boolean;
}

function newAttempt(): Attempt {
  return { unreadable: false, received: 0, broke: false };
}

interface DownloadOptions extends GetOptions {
  /** Is filled in during the download. */
  readonly attempt: Attempt;
}

/** Short enough to arrive as a whole or not at all. */
const PROBE_LENGTH = 64;

/**
 * Whether a download failed because the server cannot read a blob that it has. If its disks return other
 * data than was written, MinIO responds that it is busy, or breaks off the response where the damage
 * begins. It is not damage if the server returns what comes next, or nothing at all.
 */
async function isDamaged(
  bucket: BucketContext,
  name: string,
  { offset = 0, signal, attempt }: DownloadOptions,
): Promise<boolean> {
  if (attempt.unreadable) {
    return (await headBlob(bucket, name, signal).catch(() => undefined)) !== undefined;
  }
  if (!attempt.broke) return false;
  const next = newAttempt();
  const options = { offset: offset + attempt.received, signal, attempt: next };
  const found = await download(bucket, name, new Uint8Array(PROBE_LENGTH), options).catch(
    () => undefined,
  );
  return found === undefined && (next.unreadable || (next.broke && next.received === 0));
}

async function download(
  bucket: BucketContext,
  name: string,
  buffer: Uint8Array,
  { offset, signal, onReceived, attempt }: DownloadOptions,
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
      try {
        return await (offset === undefined
          ? readWhole(buffer, counted(response, attempt), action, onReceived)
          : readRange(buffer, offset, counted(response, attempt), action));
      } catch (error) {
        attempt.broke = !(error instanceof StorageError);
        throw error;
      }
    },
    (error) => {
      attempt.unreadable = error.code === "SlowDownRead";
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

/** Counts the bytes of a response as they arrive. */
function counted(response: HttpResponse, attempt: Attempt): HttpResponse {
  return {
    ...response,
    async *chunks() {
      for await (const chunk of response.chunks()) {
        attempt.received += chunk.length;
        yield chunk;
      }
    },
  };
}
