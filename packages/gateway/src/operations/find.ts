import type { Catalog } from "../catalog/catalog.ts";
import type { Bucket, OpenedObject, StoredObject } from "../catalog/records.ts";
import { S3Error } from "../errors.ts";
import type { Request } from "./operation.ts";

/** The object of a request. Throws S3Error `NoSuchBucket`, `NoSuchKey`, `NoSuchVersion`. */
export async function findObject(request: Request): Promise<StoredObject> {
  checkVersion(request.query.get("versionId"));
  const bucket = await request.bucket();
  const object = await request.catalog.findObject(bucket.id, request.key);
  return object ?? missing(request);
}

/** The same with the list of its content. */
export async function openObject(request: Request): Promise<OpenedObject> {
  checkVersion(request.query.get("versionId"));
  const bucket = await request.bucket();
  const opened = await request.catalog.openObject(bucket.id, request.key);
  return opened ?? missing(request);
}

/** @throws S3Error `NoSuchKey` */
export function missing({ key }: Request): never {
  throw new S3Error("NoSuchKey", undefined, { details: { Key: Buffer.from(key).toString() } });
}

/** A bucket by its name. Throws S3Error `NoSuchBucket`. */
export async function findBucket(catalog: Catalog, name: string): Promise<Bucket> {
  const bucket = await catalog.findBucket(name);
  if (bucket !== undefined) return bucket;
  throw new S3Error("NoSuchBucket", undefined, { details: { BucketName: name } });
}

/** Every object is the version `null`, as in a bucket that never had versions. */
export function checkVersion(versionId: string | undefined): void {
  if (versionId === undefined || versionId === "null") return;
  const message =
    versionId === "" ? "Version id cannot be the empty string" : "Invalid version id specified";
  throw new S3Error("InvalidArgument", message, {
    details: { ArgumentName: "versionId", ArgumentValue: versionId },
  });
}
