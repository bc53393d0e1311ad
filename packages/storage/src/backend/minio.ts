import { usage } from "../errors.ts";
import type { Backend } from "./backend.ts";
import { objectBackend } from "./s3/backend.ts";
import { commonPlace, type Place, type PlaceOptions } from "./s3/place.ts";

export type { Encryption, Timeouts } from "./s3/place.ts";

export interface MinioOptions extends PlaceOptions {
  /** The whole origin, such as `https://minio.example:9000`; or host, port and tls apart. */
  readonly endpoint?: string | undefined;
  readonly host?: string | undefined;
  /** By default 9000. */
  readonly port?: number | undefined;
  /** By default true: without, anyone on the way sees what is stored when, and how much. */
  readonly tls?: boolean | undefined;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Of temporary keys. */
  readonly sessionToken?: string | undefined;
  /** What the server was configured with, if anything. By default us-east-1. */
  readonly region?: string | undefined;
}

/**
 * Keeps each blob as an object `<prefix>/<name>` in a bucket of a MinIO server.
 *
 * @throws StorageError `usage` where the options are malformed
 */
export function minio(options: MinioOptions): Backend {
  return objectBackend(minioPlace(options));
}

export function minioPlace(options: MinioOptions): Place {
  const { region = "us-east-1", accessKey, secretKey, sessionToken } = options;
  return {
    provider: "minio",
    ...commonPlace(options, endpointOf(options)),
    region,
    pathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken },
    checksums: true,
    checksumsChecked: true,
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
