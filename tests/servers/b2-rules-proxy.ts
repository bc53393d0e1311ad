import { type HttpProxy, type ProxiedRequest, httpProxy } from "./http-proxy.ts";

export interface B2RulesOptions {
  /** As in the endpoint's name, s3.<region>.backblazeb2.com; requests must be signed for it. */
  readonly region?: string;
}

export interface B2RulesProxy extends HttpProxy {
  readonly region: string;
  /** Rejects this many requests with 503 SlowDown and a Retry-After in seconds. */
  slowDown(requests: number, retryAfter?: number): void;
}

/**
 * Enforces the documented rules of Backblaze B2's S3 API in front of a MinIO bucket. The bucket must
 * have versioning enabled, as all B2 buckets do.
 *
 * - Conditional writes return 501 NotImplemented.
 * - Checksum headers return 400, as on some B2 clusters.
 * - A DELETE without a version ID only hides the object; the bucket itself does that.
 * - The signature's region must be the one in the endpoint's name.
 * - Any request may be rejected with SlowDown.
 */
export function b2RulesProxy(upstream: string, options: B2RulesOptions = {}): B2RulesProxy {
  const { region = "us-west-004" } = options;
  let slowDowns = 0;
  let pause = 1;
  const proxy = httpProxy(upstream, {
    respond(request) {
      if (slowDowns > 0) {
        slowDowns -= 1;
        return failure(503, "SlowDown", "no tomes available", { "retry-after": String(pause) });
      }
      return violation(request, region);
    },
  });
  return {
    ...proxy,
    region,
    slowDown(requests, retryAfter = 1) {
      slowDowns = requests;
      pause = retryAfter;
    },
  };
}

const CHECKSUM = /^x-amz-(checksum-|sdk-checksum-algorithm$)/u;
const SCOPE = /Credential=[^/]+\/\d{8}\/([^/]+)\/s3\/aws4_request/u;

function violation({ method, headers }: ProxiedRequest, region: string): Response | undefined {
  if (method === "PUT" && (headers.has("if-none-match") || headers.has("if-match"))) {
    return failure(
      501,
      "NotImplemented",
      "A header you provided implies functionality that is not implemented.",
    );
  }
  for (const name of headers.keys()) {
    if (CHECKSUM.test(name)) {
      return failure(
        400,
        "InvalidRequest",
        `Unsupported header '${name}' received for this API call.`,
      );
    }
  }
  const signed = SCOPE.exec(headers.get("authorization") ?? "")?.[1];
  if (signed !== undefined && signed !== region) {
    return failure(
      403,
      "SignatureDoesNotMatch",
      `The region '${signed}' is wrong; expecting '${region}'.`,
    );
  }
  return undefined;
}

function failure(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  const escaped = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return new Response(
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n` +
      `<Error><Code>${code}</Code><Message>${escaped}</Message></Error>\n`,
    { status, headers: { "content-type": "application/xml", ...headers } },
  );
}
