import type { RequestHeaders, S3Request } from "./request.ts";
import type { Payload } from "./payload.ts";

/** How requests are authenticated. */
export interface AuthenticateOptions {
  /** The secret access key, or undefined if there is no such access key. */
  readonly findSecret: (accessKey: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The only region to accept in a V4 signature; without it, any. */
  readonly region?: string | undefined;
  /** Whether URLs presigned by V2 are accepted; by default true. */
  readonly presignedV2?: boolean | undefined;
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
