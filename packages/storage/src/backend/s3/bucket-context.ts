import type { BucketConfig } from "./bucket-config.ts";
import type { Connection } from "./http/connection.ts";

/** What every operation on a bucket needs. */
export interface BucketContext {
  readonly connection: Connection;
  readonly config: BucketConfig;
  readonly features: ServerFeatures;
}

/** What earlier calls have found out about the server and the bucket, for later calls. */
export interface ServerFeatures {
  /** Whether uploads send `x-amz-checksum-sha256`. */
  sendChecksums: boolean;
  /** Whether the server verifies that checksum, so that the one it returns can be trusted. */
  trustChecksums: boolean;
  /** Whether the bucket is known to exist. */
  bucketExists: boolean;
}

/** A blob as it appears in messages. */
export function describeBlob({ bucket, keyPrefix }: BucketConfig, name: string): string {
  return `the blob ${bucket}/${keyPrefix}${name}`;
}
