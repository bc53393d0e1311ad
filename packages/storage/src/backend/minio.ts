import { usage } from "../errors.ts";
import type { Backend } from "./backend.ts";
import { s3Backend } from "./s3/backend.ts";
import { type BucketConfig, type BucketOptions, commonConfig } from "./s3/bucket-config.ts";

export type { Timeouts } from "./http/timeouts.ts";
export type { Encryption } from "./s3/bucket-config.ts";

/** Options of `minio`: a bucket of a MinIO server. */
export interface MinioOptions extends BucketOptions {
  /** The origin, such as `https://minio.example:9000`; or else pass host, port and tls. */
  readonly endpoint?: string | undefined;
  readonly host?: string | undefined;
  /** By default 9000. */
  readonly port?: number | undefined;
  /** By default true. Without TLS, others on the network see what is stored when, and its size. */
  readonly tls?: boolean | undefined;
  readonly accessKey: string;
  readonly secretKey: string;
  /** For temporary credentials. */
  readonly sessionToken?: string | undefined;
  /** The region in the server's configuration. By default us-east-1, as on the server. */
  readonly region?: string | undefined;
}

/**
 * Keeps each blob as an object `<prefix>/<name>` in a bucket of a MinIO server.
 *
 * @throws StorageError `usage` if the options are malformed
 */
export function minio(options: MinioOptions): Backend {
  return s3Backend(minioConfig(options));
}

/**
 * The configuration that `minio` makes of its options.
 *
 * @internal
 */
export function minioConfig(options: MinioOptions): BucketConfig {
  const { region = "us-east-1", accessKey, secretKey, sessionToken } = options;
  return {
    provider: "minio",
    ...commonConfig(options, endpointOf(options)),
    region,
    pathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken },
    sendChecksums: true,
    // Whatever the URL claims, the server may be another one, or one with other intentions.
    trustChecksums: false,
    conditionalPut: true,
    versioned: false,
  };
}

function endpointOf({ endpoint, host, port = 9000, tls = true }: MinioOptions): string {
  if ((endpoint === undefined) === (host === undefined)) {
    throw usage("a MinIO backend takes either an endpoint, or a host with port and tls");
  }
  return endpoint ?? `${tls ? "https" : "http"}://${host}:${port}`;
}
