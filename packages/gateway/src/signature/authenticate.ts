import type { RequestHeaders, S3Request } from "./request.ts";
import type { Payload } from "./payload.ts";
import { S3Error } from "../errors.ts";
import { authenticateHeader } from "./header-v4.ts";
import { authenticatePresigned } from "./presigned-v4.ts";
import { authenticatePresignedV2 } from "./presigned-v2.ts";

/** How requests are authenticated. */
export interface AuthenticateOptions {
  /** The secret access key, or undefined if there is no such access key. */
  readonly findSecret: (accessKey: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The only region to accept in a V4 signature; without it, any. */
  readonly region?: string | undefined;
  /** The bucket that the host names (virtual-hosted style), which is a part of what V2 signs. */
  readonly hostBucket?: string | undefined;
}

/** A request whose signature is right. Only what is here may be acted upon. */
export interface AuthenticatedRequest extends S3Request {
  readonly accessKey: string;
  readonly mechanism: "header" | "presigned" | "presigned-v2";
  /** Also has the `x-amz-…` parameters of a presigned URL that stand for headers. */
  readonly headers: RequestHeaders;
  /** Without the parameters of the signature, and those that became headers. */
  readonly query: ReadonlyMap<string, string>;
  readonly payload: Payload;
}

/**
 * Checks who sent a request, before its body is read. A body is checked as it is read
 * (body/read-body.ts).
 *
 * @throws S3Error `AccessDenied` (no signature, unsigned `x-amz-…` headers, expired),
 *   `InvalidAccessKeyId`, `SignatureDoesNotMatch`, `RequestTimeTooSkewed`,
 *   `AuthorizationHeaderMalformed`, `AuthorizationQueryParametersError`, `InvalidRequest`,
 *   `InvalidArgument`, `InvalidToken`
 */
export function authenticate(
  request: S3Request,
  options: AuthenticateOptions,
): AuthenticatedRequest {
  const { headers, query } = request;
  const isPresigned = query.has("X-Amz-Algorithm") || query.has("X-Amz-Signature");
  const isPresignedV2 = query.has("AWSAccessKeyId") || query.has("Signature");
  const mechanisms = [headers.has("authorization"), isPresigned, isPresignedV2];
  if (mechanisms.filter(Boolean).length > 1) {
    throw new S3Error(
      "InvalidArgument",
      "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified",
    );
  }
  if (hasToken(headers) || hasToken(query)) throw new S3Error("InvalidToken");
  if (isPresigned) return authenticatePresigned(request, options);
  if (isPresignedV2) return authenticatePresignedV2(request, options);
  if (headers.has("authorization")) return authenticateHeader(request, options);
  throw new S3Error("AccessDenied");
}

/** The gateway issues no session tokens. */
function hasToken(names: ReadonlyMap<string, string>): boolean {
  for (const name of names.keys()) if (name.toLowerCase() === "x-amz-security-token") return true;
  return false;
}
