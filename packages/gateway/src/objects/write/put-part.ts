import type { PutPart } from "../../catalog/catalog.ts";
import type { ContentRoot, Part, PlacedRoot, Upload } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { ObjectsContext } from "../context.ts";
import type { PutPartRequest } from "../objects.ts";
import { storeBody } from "./store-content.ts";

/** Stores a part of an upload; see `Objects.putPart`. */
export async function putPart(
  context: ObjectsContext,
  { upload, number, body: given, signal }: PutPartRequest,
): Promise<Part> {
  const { catalog, writes, now } = context;
  const write = writes.begin(await catalog.nextSeq(), false);
  let committed = false;
  try {
    const body = await storeBody(context, given, { allowInline: false, part: number, signal });
    const { size, md5, checksums } = body;
    const part: Part = { number, seq: write.seq, size, etag: md5, time: now(), checksums };
    const contents = body.contents.map(withoutPart);
    if (!write.isAlive()) {
      await body.discard();
      throw new S3Error("ServiceUnavailable", "The write lasted too long without its catalog.");
    }
    const result = await commitPart(context, { upload, part, contents }, () => body.discard());
    committed = true;
    return result;
  } finally {
    write.end(committed);
  }
}

/**
 * Adds a part to the catalog.
 *
 * @param discardContent called if it is refused. If the catalog fails, nobody knows whether the part is
 *   there: the content stays, and a sweep decides
 */
export async function commitPart(
  { catalog, collectSoon, now }: ObjectsContext,
  put: Omit<PutPart, "now">,
  discardContent: () => Promise<unknown>,
): Promise<Part> {
  const { outcome } = await catalog.putPart({ ...put, now: now() });
  if (outcome === "stored" || outcome === "superseded") {
    collectSoon();
    return put.part;
  }
  await discardContent();
  if (outcome === "no-upload") throw noUpload(put.upload);
  throw new S3Error("NoSuchKey", "The source of the copy was replaced or deleted meanwhile.");
}

/** The error for an upload that is not there. */
export function noUpload({ id }: Pick<Upload, "id">): S3Error {
  return new S3Error("NoSuchUpload", undefined, { details: { UploadId: id } });
}

/** A content root as a part of an upload has it: the number is that of the part. */
export function withoutPart({ address, size, md5 }: PlacedRoot): ContentRoot {
  return { address, size, md5 };
}
