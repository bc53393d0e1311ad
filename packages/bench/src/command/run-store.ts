import { randomBytes } from "node:crypto";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import type { ObjectStoreAccess } from "../suite.ts";
import type { StoreChoice } from "./store-url.ts";

/** A prefix or bucket in an object store that belongs to one run. */
export interface RunStore {
  readonly access: ObjectStoreAccess;
  /** Removes everything below its prefix, and the bucket if the run created it. */
  close(): Promise<void>;
}

/**
 * Chooses a new prefix in the given bucket, or creates a bucket on the given server. Suites remove
 * their own objects; closing the store removes what interrupted suites left.
 *
 * @throws Error if the bucket cannot be listed or created, so that this fails once and not in each suite
 */
export async function openRunStore(
  choice: Exclude<StoreChoice, { kind: "none" }>,
  prefix: string = "",
): Promise<RunStore> {
  const name = `idk-bench-${randomBytes(6).toString("hex")}`;
  const access: ObjectStoreAccess =
    choice.kind === "bucket"
      ? { ...choice.access, prefix: `${choice.access.prefix}${prefix}${name}/` }
      : { ...choice.server, bucket: name, prefix };
  const client = new S3Client({
    endpoint: access.endpoint,
    region: access.region,
    credentials: access,
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // Notice within seconds that there is no server.
    requestHandler: { connectionTimeout: 5000 },
  });
  const Bucket = access.bucket;
  try {
    await (choice.kind === "server"
      ? client.send(new CreateBucketCommand({ Bucket }))
      : client.send(new ListObjectsV2Command({ Bucket, Prefix: access.prefix, MaxKeys: 1 })));
  } catch (error) {
    client.destroy();
    throw new Error(unusable(access, error), { cause: error });
  }
  return {
    access,
    async close() {
      try {
        await removeAll(client, Bucket, choice.kind === "server" ? "" : access.prefix);
        if (choice.kind === "server") await client.send(new DeleteBucketCommand({ Bucket }));
      } finally {
        client.destroy();
      }
    },
  };
}

async function removeAll(client: S3Client, Bucket: string, Prefix: string): Promise<void> {
  for (let more = true; more;) {
    const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
    for (const { Key } of page.Contents ?? []) {
      await client.send(new DeleteObjectCommand({ Bucket, Key }));
    }
    // List from the start again, because the listed objects are deleted.
    more = page.IsTruncated === true;
  }
}

function unusable({ endpoint, bucket }: ObjectStoreAccess, error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  const name = error instanceof Error ? error.name : "";
  const hint =
    name === "NoSuchBucket"
      ? "; create it with `idk store init URL`"
      : "; run `idk store check URL` to find out why";
  return `the object store at ${endpoint} cannot be used (bucket ${bucket}): ${message}${hint}`;
}
