import type { AuthenticateOptions, AuthenticatedRequest } from "./authentication.ts";
import { S3Error } from "../errors.ts";
import { authenticateHeader } from "./header-v4.ts";
import { authenticatePresigned } from "./presigned-v4.ts";
import type { S3Request } from "./request.ts";
import { authenticatePresignedV2 } from "./presigned-v2.ts";

export type { AuthenticatedRequest };

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
  if (isPresignedV2 && options.presignedV2 === false) {
    throw new S3Error(
      "InvalidRequest",
      "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
    );
  }
  if (isPresignedV2) return authenticatePresignedV2(request, options);
  if (headers.has("authorization")) return authenticateHeader(request, options);
  throw new S3Error("AccessDenied");
}

/** The gateway issues no session tokens. */
function hasToken(names: ReadonlyMap<string, string>): boolean {
  for (const name of names.keys()) if (name.toLowerCase() === "x-amz-security-token") return true;
  return false;
}
