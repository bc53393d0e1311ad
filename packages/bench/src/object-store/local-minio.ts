import { randomBytes } from "node:crypto";
import type { ObjectStoreAccess } from "../suite.ts";

export interface LocalMinio {
  /** http://host:port */
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** The MinIO that `script/minio run` starts and names in IDK_TEST_MINIO, or undefined. */
export function localMinio(): LocalMinio | undefined {
  const given = process.env["IDK_TEST_MINIO"];
  if (!given) return undefined;
  const { origin, username, password } = new URL(given);
  return {
    endpoint: origin,
    accessKey: decodeURIComponent(username),
    secretKey: decodeURIComponent(password),
  };
}

/** @throws Error if there is no local MinIO */
export function requireMinio(): LocalMinio {
  const server = localMinio();
  if (server === undefined) throw new Error("IDK_TEST_MINIO is not set: use `script/minio run`");
  return server;
}

/** A name for a bucket of this run. */
export function newBucketName(): string {
  return `idk-bench-${randomBytes(6).toString("hex")}`;
}

/** Access to the root of a bucket for `bareS3`. */
export function accessTo(
  { endpoint, accessKey, secretKey }: LocalMinio,
  bucket: string,
): ObjectStoreAccess {
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey };
  return { endpoint, region: "us-east-1", bucket, prefix: "", ...keys };
}
