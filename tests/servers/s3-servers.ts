import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { type ServerName, serverUrl } from "./require-server.ts";
import { randomBytes } from "node:crypto";

export interface S3Server {
  /** Without credentials and without a trailing slash. */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const REGION = "us-east-1";

export const minioServer = (): S3Server => s3Server("minio");
export const versitygwServer = (): S3Server => s3Server("versitygw");

function s3Server(name: ServerName): S3Server {
  const url = serverUrl(name);
  if (url === undefined) throw new Error(`there is no ${name}; use requireServer("${name}")`);
  return {
    endpoint: url.origin,
    accessKeyId: decodeURIComponent(url.username),
    secretAccessKey: decodeURIComponent(url.password),
  };
}

/** An AWS SDK client, to set up buckets and to inspect what the code under test stored. */
export function plainClient(server: S3Server): S3Client {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  return new S3Client({
    endpoint,
    region: REGION,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
}

export interface Bucket {
  readonly server: S3Server;
  readonly name: string;
  readonly client: S3Client;
  /** Deletes the bucket and every object version in it. */
  remove(): Promise<void>;
}

/** Creates a bucket with a random name. */
export async function newBucket(
  server: S3Server,
  options: { readonly versioning?: boolean } = {},
): Promise<Bucket> {
  const client = plainClient(server);
  const name = `idk-test-${randomBytes(8).toString("hex")}`;
  await client.send(new CreateBucketCommand({ Bucket: name }));
  if (options.versioning === true) {
    await client.send(
      new PutBucketVersioningCommand({
        Bucket: name,
        VersioningConfiguration: { Status: "Enabled" },
      }),
    );
  }
  return {
    server,
    name,
    client,
    async remove() {
      await removeBucket(client, name);
      client.destroy();
    },
  };
}

/** How many versions of objects and delete markers there are, of at most 1000. */
export async function countVersions({ client, name }: Bucket): Promise<number> {
  const page = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
  return (page.Versions ?? []).length + (page.DeleteMarkers ?? []).length;
}

async function removeBucket(client: S3Client, name: string): Promise<void> {
  let truncated = true;
  while (truncated) {
    const page = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
    for (const { Key, VersionId } of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])]) {
      await client.send(new DeleteObjectCommand({ Bucket: name, Key, VersionId }));
    }
    // List from the start again: the listed versions are deleted.
    truncated = page.IsTruncated === true;
  }
  await client.send(new DeleteBucketCommand({ Bucket: name }));
}
