import type { Part, PlacedRoot } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import { manifestNeed, type ObjectsContext, withManifest } from "../context.ts";
import { CONTENTS_MAX, encodeManifest } from "../identity/manifest.ts";
import type { Share } from "../memory/budget.ts";
import type { CompleteRequest, Completion } from "../objects.ts";
import type { Write } from "./writes.ts";
import { noUpload } from "./put-part.ts";
import { notCommitted, sealAndCommit, type UnsealedObject, withWrite } from "./commit.ts";

/** Makes the parts of an upload an object; see `Objects.completeUpload`. */
export async function completeUpload(
  context: ObjectsContext,
  request: CompleteRequest,
): Promise<Completion> {
  const { catalog, memory, now, collectSoon } = context;
  const { bucket, upload, parts: listed, etag, checksums, condition, signal, owner } = request;
  const { key } = upload;
  const earlier = await catalog.findCompleted(bucket.id, key, upload.id);
  if (earlier !== undefined) return earlier.object;

  const complete = async (
    write: Write,
    isClaimed: boolean,
    share: Share | undefined,
  ): Promise<Completion> => {
    const { contents, parts } = await openParts(context, request);
    share?.resize(manifestNeed(memory, contents.length + parts.length).least);
    const object: UnsealedObject = {
      kind: "manifest",
      size: parts.reduce((sum, { size }) => sum + size, 0),
      etag,
      time: now(),
      checksums,
      headers: upload.headers,
      tags: upload.tags,
    };
    const { committed, record } = await sealAndCommit(context, {
      target: { bucket, key, condition },
      object,
      content: encodeManifest({ contents, parts }),
      write,
      signal,
      commit: (record) =>
        catalog.completeUpload({
          upload,
          object: record,
          parts,
          isClaimed,
          isRegistered: true,
          now: now(),
        }),
      // An abort that did not see the new number has deleted the upload.
      renewed: async () => {
        if ((await catalog.findUpload(bucket.id, key, upload.id)) === undefined) {
          throw noUpload(upload);
        }
      },
      // The content stays that of the parts.
      discardContent: async () => {},
    });
    switch (committed.outcome) {
      case "stored":
      case "superseded":
        collectSoon();
        return { etag, checksums, seq: record.seq };
      case "completed":
        return committed.object;
      case "changed":
        throw new S3Error("InvalidPart");
      case "retry":
      case "lost":
      case "expired":
      case "source-changed":
      case "no-bucket":
      case "no-upload":
      default:
        throw notCommitted(committed.outcome);
    }
  };
  try {
    return await withWrite(
      context,
      { bucket, key, condition },
      // Each part has a content root at least.
      async (write, isClaimed) =>
        withManifest(context, 2 * listed.length, { signal, owner }, (share) =>
          complete(write, isClaimed, share),
        ),
      upload.seq,
    );
  } catch (error) {
    // The same request may have won while this one was refused.
    const winner = await catalog.findCompleted(bucket.id, key, upload.id).catch(() => undefined);
    if (winner === undefined) throw error;
    return winner.object;
  }
}

/** The listed parts and their content roots, as they are now. */
async function openParts(
  { catalog }: ObjectsContext,
  { upload, parts: listed }: CompleteRequest,
): Promise<{ parts: readonly Part[]; contents: readonly PlacedRoot[] }> {
  const opened = await catalog.openUpload(upload);
  const present = new Map(opened.parts.map((part) => [part.number, part]));
  const numbers = new Set<number>();
  for (const { number, seq } of listed) {
    if (present.get(number)?.seq !== seq) throw new S3Error("InvalidPart");
    numbers.add(number);
  }
  const contents = opened.contents.filter(({ part }) => numbers.has(part));
  if (contents.length > CONTENTS_MAX) throw tooManyRoots(contents.length);
  return { parts: listed, contents };
}

/** Nobody could read the manifest. Roots are this short only if clients are slow and memory is scarce. */
function tooManyRoots(count: number): S3Error {
  return new S3Error(
    "EntityTooLarge",
    `The parts are stored in ${count} pieces, and an object can have ${CONTENTS_MAX}. Upload the parts again with fewer at once, or give the gateway more memory.`,
  );
}
