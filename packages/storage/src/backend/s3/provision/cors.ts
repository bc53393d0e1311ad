import { toHex, utf8 } from "../../../bytes.ts";
import { sha256 } from "../../../crypto/hash.ts";
import { StorageError } from "../../../errors.ts";
import type { BucketConfig } from "../bucket-config.ts";
import { sendShort } from "../http/short-response.ts";

/** A rule for requests of pages from other origins, as far as it matters here. */
interface CorsRule {
  readonly AllowedMethods: string[] | undefined;
  readonly AllowedOrigins: string[] | undefined;
}

/** What a page needs to read blobs: GET without headers of its own, so there is no preflight. */
export function corsRule(origin: string): {
  ID: string;
  AllowedMethods: string[];
  AllowedOrigins: string[];
} {
  const digest = toHex(sha256(utf8(origin)));
  return {
    ID: `idk-read-from-${digest.slice(0, 16)}`,
    AllowedMethods: ["GET"],
    AllowedOrigins: [origin],
  };
}

/** Whether a rule already allows reading from the origin. */
export function allowsReading(rule: CorsRule, origin: string): boolean {
  const { AllowedMethods: methods = [], AllowedOrigins: origins = [] } = rule;
  return methods.includes("GET") && (origins.includes(origin) || origins.includes("*"));
}

/**
 * Whether the server answers a page of the origin, whatever rule that comes from: some servers have
 * one for all buckets.
 *
 * @param url of the bucket
 */
export async function answersOrigin(
  url: string,
  origin: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { headers } = await sendShort({ url, method: "GET", headers: { origin }, signal });
  const allowed = headers["access-control-allow-origin"];
  return allowed === "*" || allowed === origin;
}

/** Error codes of servers that have no CORS rules for a bucket. */
export const NO_CORS: ReadonlySet<string> = new Set(["NotImplemented", "MethodNotAllowed"]);

/** The error code of a bucket without CORS rules. */
export const NO_CORS_RULES = "NoSuchCORSConfiguration";

export function corsUnsupported({ bucket }: BucketConfig, origin: string): StorageError {
  return new StorageError(
    "usage",
    `this server has no CORS rules for single buckets, so ${bucket} cannot allow GET from ${origin}: ` +
      "allow it in the configuration of the server, on MinIO with " +
      `MINIO_API_CORS_ALLOW_ORIGIN=${origin} and a restart`,
  );
}
