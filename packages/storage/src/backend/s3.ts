import type { Backend } from "./backend.ts";
import { objectBackend } from "./s3/backend.ts";
import { commonPlace, type Credentials, type Place, type PlaceOptions } from "./s3/place.ts";

export type { Credentials, Encryption, Timeouts } from "./s3/place.ts";

export interface S3Options extends PlaceOptions {
  /** An origin such as `https://storage.example:9000`. By default that of Amazon in the region. */
  readonly endpoint?: string | undefined;
  /** By default what the environment and the profile say. */
  readonly region?: string | undefined;
  /** Keys or what gives them; by default the chain of the AWS SDK: variables, profile, role. */
  readonly credentials?: Credentials | (() => Promise<Credentials>) | undefined;
  /** Whether the bucket is in the path rather than in the host's name. By default with an endpoint. */
  readonly forcePathStyle?: boolean | undefined;
}

/**
 * Keeps each blob as an object `<prefix>/<name>` in a bucket of Amazon S3, or of another store
 * that speaks its protocol. Deleting is for good also where the bucket keeps versions, and needs
 * the permissions for it there.
 *
 * @throws StorageError `usage` where the options are malformed
 */
export function s3(options: S3Options): Backend {
  return objectBackend(s3Place(options));
}

export function s3Place(options: S3Options): Place {
  const { endpoint, region, credentials, forcePathStyle = endpoint !== undefined } = options;
  return {
    provider: "s3",
    ...commonPlace(options, endpoint),
    region,
    pathStyle: forcePathStyle,
    credentials,
    checksums: true,
    // Amazon does. What else speaks its protocol may keep whatever a writer claims.
    checksumsChecked: endpoint === undefined,
    conditionalPut: true,
    versioned: false,
  };
}
