import type { Put } from "../../catalog/catalog.ts";
import type { StoredObject } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import { encodeManifest } from "../identity/manifest.ts";
import type { ObjectTarget, PutRequest } from "../objects.ts";
import {
  notCommitted,
  sealAndCommit,
  type Target,
  type UnsealedObject,
  withWrite,
} from "./commit.ts";
import { storeBody } from "./store-content.ts";
import type { Write } from "./writes.ts";

/** Stores a body under a key; see `Objects.putObject`. */
export async function putObject(
  context: ObjectsContext,
  request: PutRequest,
): Promise<StoredObject> {
  const { changes, signal, memoryWaitMs } = request;
  return withWrite(context, { ...targetOf(request), changes }, async (write, isClaimed) => {
    const body = await storeBody(context, request.body, {
      allowInline: true,
      part: 1,
      signal,
      memoryWaitMs,
    });
    try {
      const content = body.inline ?? encodeManifest({ contents: body.contents, parts: [] });
      const object = describe(context, request, {
        kind: body.inline ? "inline" : "manifest",
        size: body.size,
        etag: body.md5,
        checksums: body.checksums,
      });
      const { contents } = body;
      return await commitObject(
        context,
        request,
        object,
        content,
        write,
        { contents, changes, isClaimed },
        () => body.discard(),
      );
    } finally {
      body.release();
    }
  });
}

/** The target of a request, as a write sees it. */
export function targetOf({
  bucket,
  key,
  condition,
  change,
  signal,
}: ObjectTarget): Target & { readonly signal: AbortSignal | undefined } {
  return { bucket, key, condition, change, signal };
}

/** An object with the headers and tags of a request, and the present time. */
export function describe(
  { now }: ObjectsContext,
  { headers, tags = [] }: ObjectTarget,
  { kind, size, etag, checksums }: Pick<UnsealedObject, "kind" | "size" | "etag" | "checksums">,
): UnsealedObject {
  return { kind, size, etag, checksums, headers, tags, time: now() };
}

/**
 * Seals and commits an object of `putObject` or `copyObject`.
 *
 * @param discardContent called if it is refused, after the identity root was deleted
 */
export async function commitObject(
  context: ObjectsContext,
  request: ObjectTarget,
  object: UnsealedObject,
  content: Uint8Array,
  write: Write,
  put: Pick<Put, "contents" | "parts" | "source" | "changes" | "isClaimed">,
  discardContent: () => Promise<unknown> = async () => {},
): Promise<StoredObject> {
  const { catalog, now } = context;
  const { signal, ...target } = { ...targetOf(request), changes: put.changes };
  const bucket = target.bucket.id;
  const { key } = target;
  const { committed, record } = await sealAndCommit(context, {
    target,
    object,
    content,
    write,
    signal,
    commit: (record) =>
      catalog.commitPut({ ...put, bucket, key, object: record, isRegistered: true, now: now() }),
    discardContent,
  });
  const { outcome } = committed;
  if (outcome !== "stored" && outcome !== "superseded") throw notCommitted(outcome);
  if (outcome === "superseded" || committed.replaced !== undefined) context.collectSoon();
  return { ...record, bucket, key, parts: put.parts?.length ?? 0 };
}
