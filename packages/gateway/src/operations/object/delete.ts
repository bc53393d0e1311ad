import type { Condition } from "../../catalog/catalog.ts";
import { allowsObject } from "../../credentials/permissions.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import type { DeleteTarget } from "../../objects/objects.ts";
import { type DeleteEntry, parseDelete, LONG_XML_MAX } from "../../xml/bodies.ts";
import { keyText, type Xml, xml } from "../../xml/write.ts";
import { emptyAnswer, longAnswer, xmlAnswer } from "../answers.ts";
import { readAll, SHORT_DOCUMENT } from "../bodies.ts";
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
  const body = await readAll(request, { maxLength: LONG_XML_MAX, requiresDigest: true });
  const { isQuiet, entries } = parseDelete(body);
  const refusals = entries.map((entry) => refusal(request, entry));
  const allowed = entries.filter((_, index) => refusals[index] === undefined);
  const run = async (): Promise<Answer> => {
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
  const isShort = LONGER_AT_MOST * body.length <= SHORT_DOCUMENT;
  return isShort ? run() : longAnswer(request, 3 * body.length, run);
}

/**
 * How many times as long as its request an answer may be: the shortest entry, of 29 bytes, may become an
 * error of 250, and a quotation mark six bytes.
 */
const LONGER_AT_MOST = 9;

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
