import { Client, type ClientOptions } from "minio";

const NAME = /^[0-9a-f]{64}$/u;

export interface PresignedUrls {
  readonly upload: (name: string) => Promise<string>;
  readonly download: (name: string) => Promise<string>;
}

/**
 * Presigned URLs for the blobs of a bucket on any S3 server, valid for five minutes. A client takes one
 * for each blob, and seals or opens the content itself (web-backend.ts). With `region` in the
 * options, signing makes no request.
 *
 * Serve these to signed-in users only. Anyone who has an upload URL can store any bytes under that name
 * until it expires: turn on versioning, so that nothing is lost, and sign no upload of a blob that
 * exists. A presigned PUT does not limit the length.
 */
export function presignedUrls(options: ClientOptions, bucket: string, prefix = ""): PresignedUrls {
  const client = new Client(options);
  const seconds = 300;
  const keyOf = (name: string): string => {
    if (!NAME.test(name)) throw new TypeError("a blob's name is 64 lowercase hexadecimal digits");
    return prefix === "" ? name : `${prefix}/${name}`;
  };
  return {
    upload: async (name) => client.presignedPutObject(bucket, keyOf(name), seconds),
    download: async (name) => client.presignedGetObject(bucket, keyOf(name), seconds),
  };
}
