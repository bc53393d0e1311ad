import { StorageError } from "../../../errors.ts";
import type { BlobInfo } from "../../backend.ts";
import { encryptionIn, readHeaders } from "../encryption.ts";
import { contentLength, discardBody, exchange, requireEtag } from "../http/requests.ts";
import { describeBlob, type OpenBucket } from "../open-bucket.ts";

/** What the store knows about a blob, or undefined if there is none. */
export async function headBlob(
  bucket: OpenBucket,
  name: string,
  signal: AbortSignal | undefined,
): Promise<BlobInfo | undefined> {
  const { observed } = bucket;
  let result = await sendHead(bucket, name, observed.trustChecksums, signal);
  if (result === "bad request") {
    result = await sendHead(bucket, name, false, signal);
    observed.trustChecksums = false;
  }
  if (typeof result === "object") return result;
  await requireBucket(bucket, signal);
  return undefined;
}

/**
 * Requests a blob's headers, with its checksum only if the store is known to verify it; otherwise
 * the checksum is whatever a writer claimed. A store without checksums may respond that this is a
 * bad request, without a reason, because a response to HEAD has no body.
 */
async function sendHead(
  bucket: OpenBucket,
  name: string,
  checksums: boolean,
  signal: AbortSignal | undefined,
): Promise<BlobInfo | "missing" | "bad request"> {
  const { config, observed } = bucket;
  const action = `stat ${describeBlob(config, name)}`;
  return exchange<BlobInfo | "missing" | "bad request">(
    bucket,
    {
      method: "HEAD",
      key: config.keyPrefix + name,
      headers: {
        ...(checksums ? { "x-amz-checksum-mode": "ENABLED" } : {}),
        ...readHeaders(config.encryption),
      },
      action,
      signal,
    },
    async (response) => {
      const headers = await discardBody(response);
      requireEtag(headers, action);
      observed.bucketExists = true;
      return infoIn(headers, checksums, action);
    },
    ({ status, code }) => {
      if (code === "NoSuchKey") observed.bucketExists = true;
      if (checksums && (status === 400 || status === 501)) return "bad request";
      return status === 404 && code !== "NoSuchBucket" ? "missing" : undefined;
    },
  );
}

function infoIn(headers: Headers, trustChecksums: boolean, action: string): BlobInfo {
  const size = contentLength(headers);
  if (size === undefined) {
    throw new StorageError("unavailable", `cannot ${action}: the response has no content length`);
  }
  const storedAt = Date.parse(headers.get("last-modified") ?? "");
  return {
    size,
    ...(Number.isNaN(storedAt) ? {} : { storedAt }),
    sha256: trustChecksums ? sha256In(headers) : undefined,
    encryption: encryptionIn(headers),
  };
}

/**
 * The SHA-256 of the whole object. An object that was uploaded in parts has a hash of the parts'
 * hashes instead, recognizable by its type and by the number of parts after it.
 */
function sha256In(headers: Headers): string | undefined {
  const type = headers.get("x-amz-checksum-type") ?? "FULL_OBJECT";
  const value = headers.get("x-amz-checksum-sha256") ?? "";
  if (type !== "FULL_OBJECT" || !/^[A-Za-z0-9+/]{43}=$/u.test(value)) return undefined;
  return Buffer.from(value, "base64").toString("hex");
}

/**
 * Distinguishes a missing blob from a missing bucket if the response does not, so that a mistyped
 * bucket name is noticed. Makes at most one successful request per backend.
 */
export async function requireBucket(
  bucket: OpenBucket,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { config, observed } = bucket;
  if (observed.bucketExists) return;
  await exchange<void>(
    bucket,
    {
      method: "HEAD",
      key: "",
      headers: {},
      action: `access the bucket ${config.bucket}`,
      signal,
    },
    async (response) => void (await discardBody(response)),
  ).catch((error: unknown) => {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === "not-found") {
      throw new StorageError(
        "unavailable",
        `the bucket ${config.bucket} does not exist; check its name, or create it`,
        { cause: error },
      );
    }
    // Credentials that may read blobs may still be denied access to the bucket itself.
    if (error.code !== "permission") throw error;
  });
  observed.bucketExists = true;
}
