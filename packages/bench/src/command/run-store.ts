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

/** A place in an object store that is one run's alone. */
export interface RunStore {
  readonly access: ObjectStoreAccess;
  /** Removes all that is left below its prefix, and its bucket where the run has made it. */
  close(): Promise<void>;
}

/**
 * Opens the place: a prefix of its own in the bucket that was given, or a bucket of its own on the
 * server. Suites clear what they store; this is for those that were broken off.
 *
 * @throws Error where the bucket cannot be listed, or made: better now than in each suite
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
    // A server that is not there is found out within seconds.
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
    // From the start again: what was listed is gone.
    more = page.IsTruncated === true;
  }
}

function unusable({ endpoint, bucket }: ObjectStoreAccess, error: unknown): string {
  const said = error instanceof Error ? error.message || error.name : String(error);
  const name = error instanceof Error ? error.name : "";
  const hint =
    name === "NoSuchBucket"
      ? "; make it with `idk store init URL`"
      : "; `idk store check URL` says what is missing";
  return `the object store at ${endpoint} cannot be used (bucket ${bucket}): ${said}${hint}`;
}
