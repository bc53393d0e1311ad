import type { Backend } from "./backend.ts";
import { s3Backend } from "./s3/backend.ts";
import {
  type BucketConfig,
  type BucketOptions,
  commonConfig,
  type Credentials,
} from "./s3/bucket-config.ts";

export type { Timeouts } from "./http/timeouts.ts";
export type { Credentials, Encryption } from "./s3/bucket-config.ts";

/** Options of `s3`: a bucket of Amazon S3, or of another server of its protocol. */
export interface S3Options extends BucketOptions {
  /** An origin such as `https://storage.example:9000`. By default Amazon's in the region. */
  readonly endpoint?: string | undefined;
  /**
   * By default from the environment, the AWS profile or the machine. With an endpoint, by default the
   * one in its host name, such as `s3.eu-central-003.backblazeb2.com`, or `auto` on Cloudflare R2; else
   * from the environment or the profile, and otherwise us-east-1.
   */
  readonly region?: string | undefined;
  /** By default the AWS SDK's chain: environment variables, profile, the machine's role. */
  readonly credentials?: Credentials | (() => Promise<Credentials>) | undefined;
  /** Whether URLs have the bucket in the path. By default true if `endpoint` is set. */
  readonly forcePathStyle?: boolean | undefined;
}

/**
 * Keeps each blob as an object `<prefix>/<name>` in a bucket of Amazon S3 or of an S3-compatible
 * server. Deletes are permanent even if the bucket keeps versions, and then need the permissions to
 * list and delete versions.
 *
 * @throws StorageError `usage` if the options are malformed
 */
export function s3(options: S3Options): Backend {
  return s3Backend(s3Config(options));
}

/**
 * The configuration that `s3` makes of its options.
 *
 * @internal
 */
export function s3Config(options: S3Options): BucketConfig {
  const { endpoint, region, credentials, forcePathStyle = endpoint !== undefined } = options;
  return {
    provider: "s3",
    ...commonConfig(options, endpoint),
    region,
    pathStyle: forcePathStyle,
    credentials,
    sendChecksums: true,
    // Amazon verifies checksums; a compatible server may keep whatever a writer claims.
    trustChecksums: endpoint === undefined,
    conditionalPut: true,
    versioned: false,
  };
}
