import type { PutPart } from "../../catalog/catalog.ts";
import type { ContentRoot, Part, PlacedRoot, Upload } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { ObjectsContext } from "../context.ts";
import type { PutPartRequest } from "../objects.ts";
import { expired, sourceChanged } from "./commit.ts";
import { storeBody } from "./store-content.ts";
import type { Write } from "./writes.ts";

/** Stores a part of an upload; see `Objects.putPart`. */
export async function putPart(
  context: ObjectsContext,
  { upload, number, body: given, signal, memoryWaitMs }: PutPartRequest,
): Promise<Part> {
  const { run, writes, now } = context;
  await run.ready();
  const write = await writes.begin();
  try {
    const body = await storeBody(context, given, {
      allowInline: false,
      part: number,
      signal,
      memoryWaitMs,
    });
    const { size, md5, checksums } = body;
    const part: Part = { number, seq: write.seq, size, etag: md5, time: now(), checksums };
    const contents = body.contents.map(withoutPart);
    return await commitPart(context, { upload, part, contents }, write, () => body.discard());
  } finally {
    await write.end();
  }
}

/**
 * Adds a part to the catalog.
 *
 * @param discardContent called if it is refused. If the catalog fails, nobody knows whether the part is
 *   there: the content stays, and a sweep decides
 */
export async function commitPart(
  { catalog, collectSoon, now, run }: ObjectsContext,
  put: Omit<PutPart, "now" | "isRegistered">,
  write: Write,
  discardContent: () => Promise<unknown>,
): Promise<Part> {
  try {
    await run.ready();
    if (!write.isAlive()) throw expired();
  } catch (error) {
    await discardContent();
    throw error;
  }
  const { outcome } = await catalog.putPart({ ...put, isRegistered: true, now: now() });
  if (outcome === "stored" || outcome === "superseded") {
    write.committed();
    collectSoon();
    return put.part;
  }
  await discardContent();
  if (outcome === "no-upload") throw noUpload(put.upload);
  if (outcome === "expired") throw expired();
  throw sourceChanged();
}

/** The error for an upload that is not there. */
export function noUpload({ id }: Pick<Upload, "id">): S3Error {
  return new S3Error("NoSuchUpload", undefined, { details: { UploadId: id } });
}

/** A content root as a part of an upload has it: the number is that of the part. */
export function withoutPart({ address, size, md5 }: PlacedRoot): ContentRoot {
  return { address, size, md5 };
}
