import { type HttpFront, type Passing, httpFront } from "./http-front.ts";

export interface B2FrontOptions {
  /** As in the name of the endpoint, s3.<region>.backblazeb2.com; requests are signed for it. */
  readonly region?: string;
}

export interface B2Front extends HttpFront {
  readonly region: string;
  /** Answers the next so many requests with 503 SlowDown and a Retry-After in seconds. */
  slowDown(requests: number, retryAfter?: number): void;
}

/**
 * Backblaze B2 as its S3 interface is documented, before a bucket of MinIO that has versioning
 * switched on, for B2's buckets always have:
 *
 * - conditional writes answer 501 NotImplemented;
 * - checksum headers answer 400, as some of its clusters do;
 * - a DELETE without a version only hides, which the bucket behind does by itself;
 * - the signature's region is the one in the name;
 * - any request may be told to slow down.
 */
export function b2Front(upstream: string, options: B2FrontOptions = {}): B2Front {
  const { region = "us-west-004" } = options;
  let refusals = 0;
  let pause = 1;
  const front = httpFront(upstream, {
    answer(request) {
      if (refusals > 0) {
        refusals -= 1;
        return failure(503, "SlowDown", "no tomes available", { "retry-after": String(pause) });
      }
      return refuse(request, region);
    },
  });
  return {
    ...front,
    region,
    slowDown(requests, retryAfter = 1) {
      refusals = requests;
      pause = retryAfter;
    },
  };
}

const CHECKSUM = /^x-amz-(checksum-|sdk-checksum-algorithm$)/u;
const SCOPE = /Credential=[^/]+\/\d{8}\/([^/]+)\/s3\/aws4_request/u;

function refuse({ method, headers }: Passing, region: string): Response | undefined {
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
