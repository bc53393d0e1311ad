import type { Condition } from "../../catalog/catalog.ts";
import { allowsObject } from "../../credentials/permissions.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import type { DeleteTarget } from "../../objects/objects.ts";
import { type DeleteEntry, parseDelete, LONG_XML_MAX } from "../../xml/bodies.ts";
import { keyText, type Xml, xml } from "../../xml/write.ts";
import { emptyAnswer, longAnswer, xmlAnswer } from "../answers.ts";
import { type HeldBody, readAndHold, SHORT_DOCUMENT } from "../bodies.ts";
import { deleteCondition } from "../conditions.ts";
import { checkVersion } from "../find.ts";
import { KEY_MAX } from "../keys.ts";
import type { Operation, Request } from "../operation.ts";

async function deleteObject(request: Request): Promise<Answer> {
  const { headers, key, objects, query } = request;
  checkVersion(query.get("versionId"));
  const condition = deleteCondition(headers);
  const bucket = await request.bucket();
  const [outcome] = await objects.deleteObjects(bucket, [target(key, condition)]);
  if (outcome instanceof Error) throw outcome;
  return emptyAnswer(204);
}

function target(key: Uint8Array, condition: Condition | undefined): DeleteTarget {
  return condition === undefined ? { key } : { key, condition };
}

/** Deletes up to 1,000 objects. Each has its own outcome. */
async function deleteObjects(request: Request): Promise<Answer> {
  const bucket = await request.bucket();
  const { isQuiet, entries, share } = await readEntries(request);
  const run = async (): Promise<Answer> => {
    const refusals = entries.map((entry) => refusal(request, entry));
    const allowed = entries.filter((_, index) => refusals[index] === undefined);
    const outcomes =
      allowed.length === 0
        ? []
        : await request.objects.deleteObjects(
            bucket,
            allowed.map((entry) => target(entry.key, conditionOf(entry))),
          );
    // An outcome too few would report that objects are deleted which are not.
    if (outcomes.length !== allowed.length) {
      throw new Error(`${outcomes.length} outcomes of ${allowed.length} deletions`);
    }
    let next = 0;
    const results = entries.map((entry, index): Xml => {
      const outcome = refusals[index] ?? outcomes[next++];
      if (outcome instanceof Error) return errorXml(entry, shownError(request, outcome));
      return isQuiet ? xml`` : xml`<Deleted>${entryXml(entry)}</Deleted>`;
    });
    return xmlAnswer("DeleteResult", xml`${results}`);
  };
  // What was deleted has to be told: memory for that is there before.
  const bytes = neededBytes(entries);
  if (LONGER_AT_MOST * bytes > SHORT_DOCUMENT) return longAnswer(request, bytes, run, share);
  share?.release();
  return run();
}

/** The entries of a request, without its body, which may be much longer, and the memory taken for it. */
async function readEntries(
  request: Request,
): Promise<ReturnType<typeof parseDelete> & Pick<HeldBody, "share">> {
  const { body, share } = await readAndHold(request, {
    maxLength: LONG_XML_MAX,
    requiresDigest: true,
  });
  try {
    return { ...parseDelete(body), share };
  } catch (error) {
    share?.release();
    throw error;
  }
}

/** Bytes of an entry and its error without what the client sent. */
const ENTRY_BYTES = 250;

/** How many times as long an answer may be as is usual: a quotation mark takes six bytes. */
const LONGER_AT_MOST = 2;

/** Bytes that entries take with their answer: what was sent is held, and told in text and as a document. */
function neededBytes(entries: readonly DeleteEntry[]): number {
  let bytes = 0;
  for (const { key, versionId = "", etag = "" } of entries) {
    bytes += ENTRY_BYTES + 3 * (key.length + versionId.length + etag.length);
  }
  return bytes;
}

function refusal(
  { accessKey, bucketName }: Request,
  { key, versionId }: DeleteEntry,
): S3Error | undefined {
  if (key.length > KEY_MAX) return new S3Error("KeyTooLongError");
  if (!allowsObject(accessKey, "write", bucketName, key)) return new S3Error("AccessDenied");
  if (versionId !== undefined && versionId !== "" && versionId !== "null") {
    return new S3Error("NoSuchVersion");
  }
  return undefined;
}

function conditionOf({ etag, size, lastModified }: DeleteEntry): Condition | undefined {
  if (etag === undefined && size === undefined && lastModified === undefined) return undefined;
  return {
    ...(etag !== undefined && { ifMatch: [etag] }),
    ...(size !== undefined && { ifSize: size }),
    ...(lastModified !== undefined && { ifTime: lastModified }),
  };
}

function entryXml({ key, versionId }: DeleteEntry): Xml {
  return xml`<Key>${keyText(key, undefined)}</Key>${
    versionId === undefined || versionId === ""
      ? undefined
      : xml`<VersionId>${versionId}</VersionId>`
  }`;
}

/** What went wrong inside is for the log; a refusal is for the client alone. */
function shownError({ report }: Request, error: Error): S3Error {
  return error instanceof S3Error && error.status < 500 ? error : report(error);
}

function errorXml(entry: DeleteEntry, shown: S3Error): Xml {
  return xml`<Error>${entryXml(entry)}<Code>${shown.code}</Code><Message>${shown.message}</Message></Error>`;
}

export const DELETE_OPERATIONS: readonly Operation[] = [
  {
    name: "DeleteObject",
    level: "object",
    method: "DELETE",
    parameters: ["versionId"],
    right: "write",
    scope: "object",
    run: deleteObject,
  },
  {
    name: "DeleteObjects",
    level: "bucket",
    method: "POST",
    selectors: ["delete"],
    right: "write",
    scope: "some",
    run: deleteObjects,
  },
];
