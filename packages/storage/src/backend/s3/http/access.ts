import type { BucketConfig, Credentials } from "../bucket-config.ts";

/** Where a bucket is, and who asks for it. */
export interface BucketAccess {
  /** Of the bucket itself. */
  readonly url: URL;
  /** For signatures. */
  readonly region: string;
  /** Whether the endpoint is another than Amazon's default. */
  readonly isCustomEndpoint: boolean;
  /** Cheap, because they are kept until they expire. */
  credentials(): Promise<Credentials>;
  close(): void;
}

/**
 * Names of ordinary buckets. Others are left to the SDK, whose endpoints follow from the name: ARNs of access
 * points, and what ends as directory buckets and Outposts do, such as `--x-s3` and `--op-s3`.
 */
const PLAIN_NAME = /^(?!.*--[a-z]+-s3$)[A-Za-z0-9][A-Za-z0-9._-]*$/u;

/**
 * Amazon's regions and endpoints are left to the SDK even if all is given: it knows regions such as
 * `aws-global`, and settings that change an endpoint, such as `AWS_USE_FIPS_ENDPOINT`.
 *
 * @returns undefined if something has to be found: an endpoint, a region, credentials
 */
export function knownAccess(config: BucketConfig): BucketAccess | undefined {
  const { provider, endpoint, region, credentials, pathStyle, bucket } = config;
  if (provider === "s3" || endpoint === undefined || region === undefined || !pathStyle)
    return undefined;
  if (credentials === undefined || typeof credentials === "function") return undefined;
  if (!PLAIN_NAME.test(bucket)) return undefined;
  return {
    url: new URL(`/${bucket}`, endpoint),
    region,
    isCustomEndpoint: true,
    credentials: async () => credentials,
    close() {},
  };
}
