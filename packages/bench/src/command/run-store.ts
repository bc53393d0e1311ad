import { randomBytes } from "node:crypto";
import type { ListObjectVersionsOutput, ListObjectsV2Output } from "@aws-sdk/client-s3";
import { bareS3 } from "../object-store/bare-s3.ts";
import { type Line, withLine } from "../object-store/line.ts";
import { clearAll } from "../object-store/scratch.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import type { StoreChoice } from "./store-url.ts";
import { reasonOf } from "./usage.ts";

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
 * @param line what to put between the run and the store
 * @throws Error if the bucket cannot be listed or created; Usage if such a line cannot be put there
 */
export async function openRunStore(
  choice: Exclude<StoreChoice, { kind: "none" }>,
  prefix: string = "",
  line: Line = {},
): Promise<RunStore> {
  const name = `idk-bench-${randomBytes(6).toString("hex")}`;
  const access: ObjectStoreAccess =
    choice.kind === "bucket"
      ? { ...choice.access, prefix: `${choice.access.prefix}${prefix}${name}/` }
      : { ...choice.server, bucket: name, prefix };
  const far = await withLine(access.endpoint, line);
  try {
    if (choice.kind === "server") await bareS3(access).createBucket();
    // Lists a prefix that nothing has: a bucket that cannot be listed fails here, once.
    else await clearAll(access);
  } catch (error) {
    await far[Symbol.asyncDispose]();
    throw new Error(unusable(access, error), { cause: error });
  }
  return {
    access: { ...access, endpoint: far.endpoint },
    async close() {
      await far[Symbol.asyncDispose]();
      await removeAll(access, choice.kind === "server" ? "" : access.prefix);
      if (choice.kind === "server") await bareS3(access).deleteBucket();
    },
  };
}

/** Removes all objects, also those that are no blobs. */
async function removeAll(access: ObjectStoreAccess, Prefix: string): Promise<void> {
  // Loaded late: the SDK adds so many objects to the heap that each collection takes longer.
  const sdk = await import("@aws-sdk/client-s3");
  const { endpoint, region, bucket: Bucket, provider } = access;
  const client = new sdk.S3Client({
    endpoint,
    region,
    credentials: access,
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  try {
    for (let more = true; more;) {
      const page: ListObjectsV2Output & ListObjectVersionsOutput =
        provider === "b2"
          ? await client.send(new sdk.ListObjectVersionsCommand({ Bucket, Prefix }))
          : await client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix }));
      const { Contents = [], Versions = [], DeleteMarkers = [] } = page;
      // B2 keeps versions in every bucket, and deletes only what is named with its version.
      const objects: { Key?: string | undefined; VersionId?: string | undefined }[] = [
        ...Contents,
        ...Versions,
        ...DeleteMarkers,
      ];
      for (const { Key, VersionId } of objects) {
        await client.send(new sdk.DeleteObjectCommand({ Bucket, Key, VersionId }));
      }
      // List from the start again, because the listed objects are deleted.
      more = page.IsTruncated === true;
    }
  } finally {
    client.destroy();
  }
}

function unusable({ endpoint, bucket }: ObjectStoreAccess, error: unknown): string {
  const message = reasonOf(error);
  const hint = /no such bucket|NoSuchBucket|bucket (?:\S+ )?does not exist/iu.test(message)
    ? "create it with `idk store init URL`"
    : "run `idk store check URL` to find out why";
  return `the object store at ${endpoint} cannot be used (bucket ${bucket}): ${message}; ${hint}`;
}
