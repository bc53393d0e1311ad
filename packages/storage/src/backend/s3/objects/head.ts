import type { BlobInfo } from "../../backend.ts";
import { blobInfo } from "../../http/read-blob.ts";
import { discardBody } from "../../http/response.ts";
import { encryptionIn, readHeaders } from "../encryption.ts";
import { sendRequest, requireEtag } from "../http/requests.ts";
import { describeObject, type BucketContext } from "../bucket-context.ts";
import { requireBucket } from "./bucket.ts";

/** What the server reports about a blob, or undefined if there is none. */
export async function headBlob(
  bucket: BucketContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<BlobInfo | undefined> {
  const { features } = bucket;
  let result = await sendHead(bucket, name, features.trustChecksums, signal);
  if (result === "bad request") {
    result = await sendHead(bucket, name, false, signal);
    features.trustChecksums = false;
  }
  if (typeof result === "object") return result;
  await requireBucket(bucket, signal);
  return undefined;
}

/**
 * Requests a blob's headers, with its checksum only if the server is known to verify it; otherwise
 * the checksum is whatever a writer claimed. A server without checksums may respond that this is a
 * bad request, without a reason, because a response to HEAD has no body.
 */
async function sendHead(
  bucket: BucketContext,
  name: string,
  checksums: boolean,
  signal: AbortSignal | undefined,
): Promise<BlobInfo | "missing" | "bad request"> {
  const { config, features } = bucket;
  const action = `stat ${describeObject(config, name)}`;
  return sendRequest<BlobInfo | "missing" | "bad request">(
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
      features.bucketExists = true;
      return infoIn(headers, checksums, action);
    },
    ({ status, code }) => {
      if (code === "NoSuchKey") features.bucketExists = true;
      if (checksums && (status === 400 || status === 501)) return "bad request";
      return status === 404 && code !== "NoSuchBucket" ? "missing" : undefined;
    },
  );
}

function infoIn(headers: Headers, trustChecksums: boolean, action: string): BlobInfo {
  return {
    ...blobInfo(headers, action),
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
