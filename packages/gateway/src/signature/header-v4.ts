import type { AuthenticateOptions, AuthenticatedRequest } from "./authentication.ts";
import { MAX_SKEW, amzDate, isoDate, parseAmzDate, parseHttpDate } from "./times.ts";
import type { RequestHeaders, S3Request } from "./request.ts";
import { V4_ALGORITHM, parseScope } from "./v4.ts";
import { parseSignature, parseSignedHeaders, verifyV4 } from "./verify-v4.ts";
import { S3Error } from "../errors.ts";
import { parsePayload } from "./payload.ts";

/** Checks a request that is signed in its header `Authorization`. */
export function authenticateHeader(
  request: S3Request,
  { findSecret, now, region }: AuthenticateOptions,
): AuthenticatedRequest {
  const { headers } = request;
  const { credential, signedHeaders, signature } = parseAuthorization(headers);
  const scope = parseScope(credential, region, malformed);
  const time = requestTime(headers);
  if (!amzDate(time).startsWith(scope.date)) {
    throw malformed("Invalid credential date. Date is not the same as X-Amz-Date.");
  }
  if (Math.abs(now - time) > MAX_SKEW) throw skewed(time, now);
  const payloadHash = headers.get("x-amz-content-sha256");
  const form = parsePayload(payloadHash);
  const sent = { scope, signedHeaders, signature, time, payloadHash: payloadHash ?? "", form };
  const payload = verifyV4(request, sent, findSecret);
  return { ...request, accessKey: scope.accessKey, mechanism: "header", payload };
}

/** `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`, in any order. */
function parseAuthorization(headers: RequestHeaders): {
  readonly credential: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
} {
  const text = headers.get("authorization") ?? "";
  const [scheme] = text.split(" ", 1);
  if (scheme !== V4_ALGORITHM) throw unsupported(scheme ?? "");
  const components = new Map<string, string>();
  for (const part of text.slice(V4_ALGORITHM.length).split(",")) {
    const [name, value] = splitOnce(part.trim());
    if (value === undefined || components.has(name)) {
      throw malformed(`the authorization component "${part.trim()}" is malformed.`);
    }
    components.set(name, value);
  }
  const component = (name: string): string => {
    const value = components.get(name);
    if (value === undefined || value === "") throw malformed(`missing ${name}.`);
    return value;
  };
  const credential = component("Credential");
  const signedHeaders = parseSignedHeaders(component("SignedHeaders"));
  const signature = parseSignature(component("Signature"));
  if (signedHeaders === undefined) throw malformed("SignedHeaders is not a list of names.");
  if (signature === undefined) throw malformed("Signature is not 64 hexadecimal digits.");
  if (components.size > 3) {
    throw malformed(
      "the authorization header requires three components: Credential, SignedHeaders, and Signature.",
    );
  }
  return { credential, signedHeaders, signature };
}

function splitOnce(text: string): readonly [name: string, value: string | undefined] {
  const equals = text.indexOf("=");
  return equals === -1 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
}

function requestTime(headers: RequestHeaders): number {
  const amz = headers.get("x-amz-date");
  const date = headers.get("date") ?? "";
  const time = amz === undefined ? (parseHttpDate(date) ?? parseAmzDate(date)) : parseAmzDate(amz);
  if (time !== undefined) return time;
  throw new S3Error(
    "AccessDenied",
    "AWS authentication requires a valid Date or x-amz-date header",
  );
}

function malformed(fault: string, details: Readonly<Record<string, string>> = {}): S3Error {
  return new S3Error(
    "AuthorizationHeaderMalformed",
    `The authorization header is malformed; ${fault}`,
    { details },
  );
}

function skewed(time: number, now: number): S3Error {
  return new S3Error("RequestTimeTooSkewed", undefined, {
    details: {
      RequestTime: amzDate(time),
      ServerTime: isoDate(now),
      MaxAllowedSkewMilliseconds: MAX_SKEW,
    },
  });
}

function unsupported(scheme: string): S3Error {
  // V2, and V4 with asymmetric keys.
  if (scheme === "AWS" || scheme.startsWith("AWS4-")) {
    return new S3Error(
      "InvalidRequest",
      "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
    );
  }
  return new S3Error("InvalidArgument", "Unsupported Authorization Type", {
    details: { ArgumentName: "Authorization" },
  });
}
