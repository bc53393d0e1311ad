import { createHash } from "node:crypto";
import { equal } from "@idk/storage/blobs";
import type { Part, StoredObject } from "../../catalog/records.ts";
import { type ObjectsContext, smallNeed, withManifest } from "../context.ts";
import { encodeManifest } from "../identity/manifest.ts";
import { S3Error } from "../../errors.ts";
import type {
  ByteRange,
  CopyPartRequest,
  CopyRequest,
  IncomingBody,
  TagsRequest,
} from "../objects.ts";
import { isMissing } from "../maintenance/inspect-root.ts";
import { partsOf, readForCopy, requireIdentity } from "../read/read.ts";
import { rootsOfRange } from "../read/ranges.ts";
import { type UnsealedObject, withWrite } from "./commit.ts";
import { commitObject, describe, targetOf } from "./put-object.ts";
import { commitPart, putPart, withoutPart } from "./put-part.ts";

/** Copies an object; see `Objects.copyObject`. */
export async function copyObject(
  context: ObjectsContext,
  request: CopyRequest,
): Promise<StoredObject> {
  const { object } = request.source;
  // Before a claim is taken for nothing.
  if (object.kind === "inline") requireIdentity(context, "copy");
  return sealAnew(context, request, describe(context, request, object));
}

/** Changes the tags of an object; see `Objects.setTags`. */
export async function setTags(
  context: ObjectsContext,
  { bucket, source, tags, change, signal, owner }: TagsRequest,
): Promise<boolean> {
  const { key, kind, size, etag, time, checksums, headers } = source.object;
  if (kind === "inline" && !context.canRead) return context.catalog.setTags(source.object, tags);
  const object = { kind, size, etag, time, checksums, headers, tags };
  try {
    await sealAnew(context, { bucket, key, headers, source, change, signal, owner }, object);
    return true;
  } catch (error) {
    const isReplaced =
      error instanceof S3Error ? error.code === "OperationAborted" : isMissing(error);
    if (isReplaced) return false;
    throw error;
  }
}

/** Seals the content of an object under another identity. */
async function sealAnew(
  context: ObjectsContext,
  request: CopyRequest,
  object: UnsealedObject,
): Promise<StoredObject> {
  const { signal, owner } = request;
  const { object: source, contents } = request.source;
  // Onto itself, it would otherwise put the content that it has read over that of a later write.
  const isOntoItself = source.bucket === request.bucket.id && equal(source.key, request.key);
  const changes = isOntoItself ? source : undefined;
  return withWrite(context, { ...targetOf(request), changes }, async (write, isClaimed) => {
    // Content that is shared must still be there in the end.
    const isShared = source.kind === "manifest";
    const put = { contents, isClaimed, changes, ...(isShared ? { source } : {}) };
    if (isShared) {
      const rows = contents.length + source.parts;
      return withManifest(context, rows, { signal, owner }, async () => {
        const parts = await partsOf(context, source);
        const manifest = encodeManifest({ contents, parts });
        return commitObject(context, request, object, manifest, write, { ...put, parts });
      });
    }
    const share = await context.memory.small.acquire(smallNeed(source.size), { signal });
    try {
      const root = await context.roots.get(source.root, { signal });
      const content = await root.bytes({ maxBytes: source.size });
      return await commitObject(context, request, object, content, write, put);
    } finally {
      share.release();
    }
  });
}

/** Makes a part of stored content; see `Objects.copyPart`. */
export async function copyPart(context: ObjectsContext, request: CopyPartRequest): Promise<Part> {
  const { upload, number, source, signal, owner } = request;
  const { object, contents } = source;
  const range = request.range ?? { start: 0, end: object.size };
  const rows = contents.length + object.parts;
  const shared = await withManifest(context, rows, { signal, owner }, () =>
    shareAsPart(context, request, range),
  );
  if (shared !== undefined) return shared;
  requireIdentity(context, "copy");
  const body = hashed(readForCopy(context, source, range, signal), range.end - range.start);
  return putPart(context, { upload, number, body, signal });
}

/** A part over the content roots of a range; undefined if it has none of its own, or no known MD5. */
async function shareAsPart(
  context: ObjectsContext,
  request: CopyPartRequest,
  { start, end }: ByteRange,
): Promise<Part | undefined> {
  const { upload, number, source } = request;
  const { object, contents } = source;
  const md5 = await knownMd5(context, request, { start, end });
  const roots = rootsOfRange(contents, { start, end });
  if (object.kind === "inline" || roots === undefined || md5 === undefined) return undefined;
  await context.run.ready();
  const write = await context.writes.begin();
  try {
    const part: Part = {
      number,
      seq: write.seq,
      size: end - start,
      etag: md5,
      time: context.now(),
      checksums: {},
    };
    const shared = { upload, part, contents: roots.map(withoutPart), source: object };
    // Nothing was stored.
    return await commitPart(context, shared, write, async () => {});
  } finally {
    await write.end();
  }
}

const MD5 = /^[0-9a-f]{32}$/u;

/** The MD5 of a range that is the whole object, a part of it, or a content root. */
async function knownMd5(
  context: ObjectsContext,
  { source: { object, contents } }: CopyPartRequest,
  { start, end }: ByteRange,
): Promise<string | undefined> {
  if (start === 0 && end === object.size && MD5.test(object.etag)) return object.etag;
  let at = 0;
  for (const { size, md5 } of contents) {
    if (at === start && at + size === end && md5 !== "") return md5;
    at += size;
  }
  at = 0;
  for (const { size, etag } of await partsOf(context, object)) {
    if (at === start && at + size === end && MD5.test(etag)) return etag;
    at += size;
  }
  return undefined;
}

/** Stored content as a body, with its MD5. */
function hashed(bytes: AsyncIterable<Uint8Array>, length: number): IncomingBody {
  const md5 = createHash("md5");
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      md5.update(piece);
      yield piece;
    }
  }
  return { bytes: passing(), length, digests: () => ({ md5: md5.digest("hex"), checksums: {} }) };
}
