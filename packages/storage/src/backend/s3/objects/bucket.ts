import { StorageError } from "../../../errors.ts";
import type { BucketContext } from "../bucket-context.ts";
import { discardBody, readText } from "../../http/response.ts";
import { sendRequest } from "../http/requests.ts";
import { MAX_RESPONSE_BYTES } from "../http/short-response.ts";
import { invalidResult, textOf, type XmlElement } from "../http/xml.ts";

/**
 * Distinguishes a missing blob from a missing bucket if the response does not, so that a mistyped
 * bucket name is noticed. Makes at most one successful request per backend.
 */
export async function requireBucket(
  bucket: BucketContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { config, features } = bucket;
  if (features.bucketExists) return;
  await sendRequest<void>(
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
  features.bucketExists = true;
}

interface BucketQuery {
  readonly query: Readonly<Record<string, string>>;
  /** The protocol's name of the request. */
  readonly operation: string;
  readonly action: string;
  readonly signal: AbortSignal | undefined;
}

/** Sends a GET for the bucket itself and returns the root element of the response. */
export async function queryBucket(
  bucket: BucketContext,
  { query, operation, action, signal }: BucketQuery,
): Promise<XmlElement> {
  return sendRequest(
    bucket,
    { method: "GET", key: "", query, headers: {}, action, signal },
    async (response) => {
      const { text, complete } = await readText(response.chunks(), MAX_RESPONSE_BYTES);
      const { parseXml } = await import("../http/parse-xml.ts");
      const root = complete ? parseXml(text) : undefined;
      if (root === undefined) throw invalidResult(action, operation);
      return root;
    },
  );
}

/**
 * Whether more pages follow. Every page of a listing contains this; the XML of another web server
 * does not, and must not pass for an empty listing.
 *
 * @throws StorageError `unavailable`, transient
 */
export function isTruncated(page: XmlElement, action: string, operation: string): boolean {
  const text = textOf(page, "IsTruncated");
  if (text !== "true" && text !== "false") throw invalidResult(action, operation);
  return text === "true";
}

/**
 * The longest continuation token or marker that is sent back, in characters. Servers reject longer
 * URLs, so that none of them returns one.
 */
export const MAX_TOKEN = 8192;

export function noContinuation(action: string, operation: string): StorageError {
  const text = `the ${operation} result is truncated but has no new continuation token; check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`, { transient: true });
}
