import { decodePath, type S3Request, splitPath } from "../signature/request.ts";

/** The bucket and key that a request is for. */
export interface Address {
  /** Empty for the service itself. */
  readonly bucketName: string;
  /** Empty for a bucket. */
  readonly key: Uint8Array;
}

/**
 * The bucket that a host names: `photos` of `photos.s3.example.com:9000`, if the domain is
 * `s3.example.com`.
 */
export function hostBucketOf(
  host: string | undefined,
  domain: string | undefined,
): string | undefined {
  if (host === undefined || domain === undefined) return undefined;
  const name = host.replace(/:\d+$/u, "").toLowerCase();
  const end = `.${domain.toLowerCase()}`;
  return name.endsWith(end) && name.length > end.length ? name.slice(0, -end.length) : undefined;
}

/** @throws S3Error `InvalidURI` */
export function addressOf({ rawPath }: S3Request, hostBucket: string | undefined): Address {
  if (hostBucket !== undefined) return { bucketName: hostBucket, key: decodePath(rawPath) };
  const { first, rest } = splitPath(rawPath);
  return { bucketName: first, key: rest };
}

/** What a request is for, by how much of an address it has. */
export function levelOf({ bucketName, key }: Address): "service" | "bucket" | "object" {
  if (key.length > 0) return "object";
  return bucketName === "" ? "service" : "bucket";
}
