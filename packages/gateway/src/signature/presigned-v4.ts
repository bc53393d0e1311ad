import type { AuthenticateOptions, AuthenticatedRequest } from "./authentication.ts";
import { MAX_SKEW, amzDate, isoDate, parseAmzDate } from "./times.ts";
import { V4_ALGORITHM, parseScope } from "./v4.ts";
import { parseSignature, parseSignedHeaders, verifyV4 } from "./verify-v4.ts";
import { S3Error } from "../errors.ts";
import { type S3Request, addHeaders } from "./request.ts";
import { parsePayload } from "./payload.ts";

/** What is wrong with chunks in a presigned request. */
export const PRESIGNED_CHUNKS =
  "A presigned request cannot have a body of chunks. Use UNSIGNED-PAYLOAD.";

/** Seconds. */
const MAX_EXPIRES = 7 * 24 * 60 * 60;

/** Checks a request that is signed in its query. */
export function authenticatePresigned(
  request: S3Request,
  { findSecret, now, region }: AuthenticateOptions,
): AuthenticatedRequest {
  const { headers, query } = request;
  const parameter = (name: string): string => {
    const value = query.get(name);
    if (value !== undefined && value !== "") return value;
    throw invalid(
      "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.",
    );
  };
  const algorithm = parameter("X-Amz-Algorithm");
  const credential = parameter("X-Amz-Credential");
  const date = parameter("X-Amz-Date");
  const expires = parseExpires(parameter("X-Amz-Expires"));
  const signedHeaders = parseSignedHeaders(parameter("X-Amz-SignedHeaders"));
  const signature = parseSignature(parameter("X-Amz-Signature"));
  if (algorithm !== V4_ALGORITHM) {
    throw invalid(`X-Amz-Algorithm only supports "${V4_ALGORITHM}"`);
  }
  const scope = parseScope(credential, region, (fault, details) =>
    invalid(`Error parsing the X-Amz-Credential parameter; ${fault}`, details),
  );
  const time = parseAmzDate(date);
  if (time === undefined) {
    throw invalid("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  }
  if (!amzDate(time).startsWith(scope.date)) {
    throw invalid(
      `Invalid credential date "${scope.date}". This date is not the same as X-Amz-Date: "${date.slice(0, 8)}".`,
    );
  }
  if (signedHeaders === undefined) throw invalid("X-Amz-SignedHeaders is not a list of names.");
  checkTime(time, expires, now);
  const payloadHash =
    headers.get("x-amz-content-sha256") ?? query.get("X-Amz-Content-Sha256") ?? "UNSIGNED-PAYLOAD";
  const form = parsePayload(payloadHash);
  if (form.form === "signed-chunks" || form.form === "unsigned-chunks") {
    throw new S3Error("InvalidRequest", PRESIGNED_CHUNKS);
  }
  const sent = {
    scope,
    signedHeaders,
    // A malformed signature is one that does not match.
    signature: signature ?? "",
    time,
    payloadHash,
    form,
    parameter: "X-Amz-Signature",
  };
  const payload = verifyV4(request, sent, findSecret);
  return {
    ...request,
    ...withoutSignature(request),
    accessKey: scope.accessKey,
    mechanism: "presigned",
    payload,
  };
}

function parseExpires(text: string): number {
  if (!/^-?\d{1,15}$/u.test(text)) throw invalid("X-Amz-Expires should be a number");
  const seconds = Number(text);
  if (seconds < 0) throw invalid("X-Amz-Expires must be non-negative");
  if (seconds > MAX_EXPIRES) {
    throw invalid(
      `X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than ${MAX_EXPIRES} seconds`,
    );
  }
  return seconds;
}

function checkTime(time: number, expires: number, now: number): void {
  if (time - now > MAX_SKEW) throw new S3Error("AccessDenied", "Request is not valid yet");
  const end = time + 1000 * expires;
  if (now <= end) return;
  throw new S3Error("AccessDenied", "Request has expired", {
    details: { "X-Amz-Expires": expires, Expires: isoDate(end), ServerTime: isoDate(now) },
  });
}

/** The parameters of the signature. */
const SIGNATURE =
  /^x-amz-(?:algorithm|credential|date|expires|signedheaders|signature|content-sha256)$/u;

/**
 * Parameters that S3 ignores in a presigned URL: clients put a checksum there before they know the
 * body.
 */
const IGNORED =
  /^x-amz-(?:checksum-(?:crc32|crc32c|crc64nvme|sha1|sha256)|sdk-checksum-algorithm)$/u;

/**
 * Clients put headers whose values they know into the query, where they are signed as well: S3 takes
 * them as headers.
 */
function withoutSignature(request: S3Request): Pick<AuthenticatedRequest, "headers" | "query"> {
  const query = new Map<string, string>();
  const added: [name: string, value: string][] = [];
  for (const [name, value] of request.query) {
    const header = name.toLowerCase();
    if (!header.startsWith("x-amz-")) query.set(name, value);
    else if (!SIGNATURE.test(header) && !IGNORED.test(header)) added.push([header, value]);
  }
  return { headers: addHeaders(request.headers, added), query };
}

function invalid(message: string, details: Readonly<Record<string, string>> = {}): S3Error {
  return new S3Error("AuthorizationQueryParametersError", message, { details });
}
