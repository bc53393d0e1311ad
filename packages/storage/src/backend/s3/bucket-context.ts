import { MARKERS } from "../backend.ts";
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
  /** Whether puts of markers send `If-None-Match`, which keeps the time of the first. */
  conditionalPut: boolean;
}

/**
 * A blob or a marker as it appears in messages.
 *
 * @param name what follows the key prefix
 */
export function describeObject({ bucket, keyPrefix }: BucketConfig, name: string): string {
  return `the ${name.startsWith(MARKERS) ? "marker" : "blob"} ${bucket}/${keyPrefix}${name}`;
}
