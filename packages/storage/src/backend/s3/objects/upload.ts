import { toHex } from "../../../bytes.ts";
import { sha256 as hash } from "../../../crypto/hash.ts";
import { StorageError, usage } from "../../../errors.ts";
import { isBlobName, MARKERS, type PutCallOptions } from "../../backend.ts";
import type { ErrorResponse } from "../../http/errors.ts";
import { discardBody } from "../../http/response.ts";
import { uploadHeaders } from "../encryption.ts";
import { sendRequest, requireEtag } from "../http/requests.ts";
import { describeObject, type BucketContext } from "../bucket-context.ts";

/**
 * Uploads in one request. One SHA-256 of the body serves the signature, which lets the server reject
 * an upload that was damaged in transit, and the checksum that the server keeps with the object.
 */
export async function putBlob(
  bucket: BucketContext,
  name: string,
  bytes: Uint8Array,
  { signal, sha256 = toHex(hash(bytes)) }: PutCallOptions,
): Promise<void> {
  // It becomes part of headers.
  if (!isBlobName(sha256)) throw usage("sha256 must be 64 lowercase hexadecimal digits");
  await storeObject(bucket, { name, bytes, sha256, signal });
}

/** The SHA-256 of no bytes. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * Stores an empty object, on condition that it does not exist if the server supports that: so its
 * time stays that of the first put. Nothing else depends on the condition.
 */
export async function putMarker(
  bucket: BucketContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { features } = bucket;
  const upload = {
    name: MARKERS + name,
    bytes: new Uint8Array(0),
    sha256: EMPTY_SHA256,
    signal,
  };
  if (features.conditionalPut) {
    const headers = {
      ...(features.sendChecksums ? checksumHeader(EMPTY_SHA256) : {}),
      "if-none-match": "*",
    };
    const rejection = await sendUpload(bucket, upload, headers, ({ status }) =>
      // 403: a policy may allow the plain put alone. 409: another put of the name is in progress.
      [400, 403, 409, 412, 501].includes(status),
    );
    features.bucketExists = true;
    if (rejection === undefined || rejection.status === 412) return;
    await storeObject(bucket, upload);
    if (rejection.status !== 409) features.conditionalPut = false;
    return;
  }
  await storeObject(bucket, upload);
}

/** Stores an object, with its checksum unless the server is found not to support that. */
async function storeObject(bucket: BucketContext, upload: Upload): Promise<void> {
  const { features } = bucket;
  if (!features.sendChecksums) {
    await sendUpload(bucket, upload, {});
  } else if (await sendUpload(bucket, upload, checksumHeader(upload.sha256), isUnsupportedHeader)) {
    await sendUpload(bucket, upload, {});
    // Only this success proves that the header was the reason for the error.
    features.sendChecksums = false;
    features.trustChecksums = false;
  }
  features.bucketExists = true;
}

export interface Upload {
  /** What follows the key prefix: a blob's name, or `heads/` and that of a marker. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends one upload.
 *
 * @param expected selects the error responses to return instead of throwing
 * @returns that error response, or undefined if the blob is stored
 */
export async function sendUpload(
  bucket: BucketContext,
  { name, bytes, sha256, signal }: Upload,
  headers: Readonly<Record<string, string>>,
  expected?: (response: ErrorResponse) => boolean,
): Promise<ErrorResponse | undefined> {
  const { config } = bucket;
  const action = `store ${describeObject(config, name)}`;
  return sendRequest<ErrorResponse | undefined>(
    bucket,
    {
      method: "PUT",
      key: config.keyPrefix + name,
      headers: { ...headers, ...uploadHeaders(config.encryption) },
      body: { bytes, sha256 },
      action,
      signal,
    },
    async (response) => {
      checkStored(await discardBody(response), sha256, headers[CHECKSUM], action);
      return undefined;
    },
    (response) => (expected?.(response) ? response : undefined),
  );
}

const CHECKSUM = "x-amz-checksum-sha256";

export function checksumHeader(sha256: string): Record<string, string> {
  return { [CHECKSUM]: Buffer.from(sha256, "hex").toString("base64") };
}

/**
 * Checks that the response comes from a server that now has the blob. Another web server may accept
 * any request with a 200 and keep nothing.
 *
 * @param sent the checksum header of the upload; a wrong one is sent as a test and may be returned
 */
function checkStored(
  headers: Headers,
  sha256: string,
  sent: string | undefined,
  action: string,
): void {
  requireEtag(headers, action);
  const expected = checksumHeader(sha256)[CHECKSUM];
  const returned = headers.get(CHECKSUM);
  if (returned === null || returned === expected || (sent !== undefined && sent !== expected)) {
    return;
  }
  throw new StorageError(
    "unavailable",
    `cannot ${action}: the store returned the checksum of other data; try again`,
    { transient: true },
  );
}

const MISMATCH = new Set(["BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch"]);

/** Whether the server rejected the body because it does not match its checksum. */
export function isMismatch({ code }: ErrorResponse): boolean {
  return MISMATCH.has(code);
}

/** The response of some B2 clusters, and of servers that lack the checksum headers. */
export function isUnsupportedHeader(response: ErrorResponse): boolean {
  const { status, code, message } = response;
  if ((status !== 400 && status !== 501) || isMismatch(response)) return false;
  return (
    code === "NotImplemented" || /unsupported header|not implemented|x-amz-checksum/iu.test(message)
  );
}
