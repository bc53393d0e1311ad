import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/outgoing.ts";
import { parseTaggingHeader } from "../../xml/tags.ts";
import { xml } from "../../xml/write.ts";
import { isoTime, xmlAnswer } from "../answers.ts";
import { checksumsAndTypeXml, checksumsXml } from "../checksums.ts";
import { writeCondition } from "../conditions.ts";
import { findUpload } from "../multipart/upload.ts";
import type { Operation, Request } from "../operation.ts";
import { partNumberOf } from "../parameters.ts";
import { refuseUnsupported } from "../requests.ts";
import { slowAnswer } from "../slow-answer.ts";
import { copiedHeaders, keptHeaders } from "./headers.ts";
import { parseCopyRange } from "./ranges.ts";
import { openSource, type Source } from "./source.ts";

async function copyObject(request: Request): Promise<Answer> {
  const { headers, key, objects, signal } = request;
  refuseUnsupported(headers);
  const isReplaced = directive(request, "x-amz-metadata-directive") === "REPLACE";
  const areTagsReplaced = directive(request, "x-amz-tagging-directive") === "REPLACE";
  const kept = keptHeaders(headers);
  const tags = parseTaggingHeader(headers.get("x-amz-tagging") ?? "");
  const condition = writeCondition(headers);
  const bucket = await request.bucket();
  const source = await openSource(request);
  if (isSame(request, source) && !isReplaced && !areTagsReplaced) {
    throw new S3Error(
      "InvalidRequest",
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    );
  }
  const { object } = source.opened;
  return slowAnswer(
    objects
      .copyObject({
        bucket,
        key,
        headers: isReplaced ? kept : copiedHeaders(object.headers, kept),
        tags: areTagsReplaced ? tags : object.tags,
        condition,
        source: source.opened,
        signal,
      })
      .then(({ etag, time, checksums }) =>
        xmlAnswer(
          "CopyObjectResult",
          xml`<LastModified>${isoTime(time)}</LastModified><ETag>"${etag}"</ETag>${checksumsAndTypeXml(checksums)}`,
        ),
      ),
    request,
  );
}

function isSame({ bucketName, key }: Request, source: Source): boolean {
  return source.bucketName === bucketName && Buffer.compare(source.key, key) === 0;
}

function directive({ headers }: Request, name: string): "COPY" | "REPLACE" {
  const value = headers.get(name) ?? "COPY";
  if (value === "COPY" || value === "REPLACE") return value;
  throw new S3Error(
    "InvalidArgument",
    `Unknown ${name === "x-amz-metadata-directive" ? "metadata" : "tagging"} directive.`,
    {
      details: { ArgumentName: name, ArgumentValue: value },
    },
  );
}

async function uploadPartCopy(request: Request): Promise<Answer> {
  const { headers, query, objects, signal } = request;
  const number = partNumberOf(query);
  const upload = await findUpload(request);
  const { opened } = await openSource(request);
  const range = parseCopyRange(headers.get("x-amz-copy-source-range"), opened.object.size);
  return slowAnswer(
    objects
      .copyPart({ upload, number, source: opened, range, signal })
      .then(({ etag, time, checksums }) =>
        xmlAnswer(
          "CopyPartResult",
          xml`<LastModified>${isoTime(time)}</LastModified><ETag>"${etag}"</ETag>${checksumsXml(checksums)}`,
        ),
      ),
    request,
  );
}

export const COPY_OPERATIONS: readonly Operation[] = [
  {
    name: "CopyObject",
    level: "object",
    method: "PUT",
    header: "x-amz-copy-source",
    right: "write",
    scope: "object",
    run: copyObject,
  },
  {
    name: "UploadPartCopy",
    level: "object",
    method: "PUT",
    selectors: ["partNumber", "uploadId"],
    header: "x-amz-copy-source",
    right: "write",
    scope: "object",
    run: uploadPartCopy,
  },
];
