import { usage } from "../errors.ts";
import type { Backend } from "./backend.ts";
import type { RetryOptions } from "./retry.ts";
import { s3Backend } from "./s3/backend.ts";
import {
  type BucketConfig,
  type BucketOptions,
  commonConfig,
  type Encryption,
} from "./s3/bucket-config.ts";

export type { Timeouts } from "./http/timeouts.ts";
export type { Encryption } from "./s3/bucket-config.ts";

/** Options of `b2`: a bucket of Backblaze B2. */
export interface B2Options extends BucketOptions {
  /** Such as `us-east-005`. May be omitted if the endpoint contains it. */
  readonly region?: string | undefined;
  /** Such as `https://s3.us-east-005.backblazeb2.com`. By default that of the region. */
  readonly endpoint?: string | undefined;
  /** Of an application key. The S3 interface does not accept the account's master key. */
  readonly keyId: string;
  readonly applicationKey: string;
  /** `AES256` is SSE-B2. B2 has no key management. */
  readonly encryption?: Exclude<Encryption, { readonly type: "aws:kms" }> | undefined;
}

/**
 * Options for `withRetry` around this backend. B2 responds with 503 in normal operation and may
 * request long delays, so that the budget could be exhausted after a few attempts: hence at least
 * eight attempts, and a longer first delay.
 */
export const B2_RETRY: Pick<RetryOptions, "firstDelayMs" | "minAttempts"> = {
  firstDelayMs: 1000,
  minAttempts: 8,
};

/**
 * Keeps each blob as an object `<prefix>/<name>` in a bucket of Backblaze B2, through its S3
 * interface. Its buckets keep versions: a delete removes all of them, and until then an overwritten
 * version remains.
 *
 * @throws StorageError `usage` if the options are malformed
 */
export function b2(options: B2Options): Backend {
  return s3Backend(b2Config(options));
}

/**
 * The configuration that `b2` makes of its options.
 *
 * @internal
 */
export function b2Config(options: B2Options): BucketConfig {
  const { keyId, applicationKey } = options;
  const region = options.region ?? regionIn(options.endpoint);
  if (!/^[a-z0-9-]+$/u.test(region)) throw usage("the region is malformed");
  return {
    provider: "b2",
    ...commonConfig(options, options.endpoint ?? `https://s3.${region}.backblazeb2.com`),
    region,
    pathStyle: true,
    credentials: { accessKeyId: keyId, secretAccessKey: applicationKey },
    // Some of its clusters reject the header; `capabilities` finds out.
    sendChecksums: false,
    trustChecksums: false,
    conditionalPut: false,
    versioned: true,
  };
}

/** The region is the second label of the endpoint's host name. */
function regionIn(endpoint: string | undefined): string {
  if (endpoint === undefined) throw usage("a B2 backend takes a region or an endpoint");
  const [, region] = /^https:\/\/s3\.([a-z0-9-]+)\.backblazeb2\.com\/?$/u.exec(endpoint) ?? [];
  if (region === undefined) {
    throw usage("the endpoint is not https://s3.REGION.backblazeb2.com, so pass its region too");
  }
  return region;
}
