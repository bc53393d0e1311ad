import type { Upload } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { Request } from "../operation.ts";

/** The upload in progress that a request names. Throws S3Error `NoSuchUpload`, `NoSuchBucket`. */
export async function findUpload({ bucket, catalog, key, query }: Request): Promise<Upload> {
  const id = query.get("uploadId") ?? "";
  const { id: bucketId } = await bucket();
  const upload = await catalog.findUpload(bucketId, key, id);
  if (upload !== undefined) return upload;
  throw new S3Error("NoSuchUpload", undefined, { details: { UploadId: id } });
}
