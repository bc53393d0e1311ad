import { type ChecksumAlgorithm, parseAlgorithm } from "../../body/algorithms.ts";
import { S3Error } from "../../errors.ts";
import type { Change } from "../../objects/write/commit.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import type { RequestHeaders } from "../../signature/request.ts";
import { parseTaggingHeader } from "../../xml/tags.ts";
import { xml } from "../../xml/write.ts";
import { isoTime, xmlAnswer } from "../answers.ts";
import {
  checksumsAndTypeXml,
  checksumsXml,
  checksumType,
  requestedAlgorithm,
} from "../checksums.ts";
import { writeCondition } from "../conditions.ts";
import { findUpload } from "../multipart/upload.ts";
import type { Operation, Request } from "../operation.ts";
import { partNumberOf } from "../parameters.ts";
import { encryptionHeaders, refuseUnsupported } from "../requests.ts";
import { slowAnswer } from "../slow-answer.ts";
import { copiedBody } from "./copied-body.ts";
import { copiedHeaders, keptHeaders } from "./headers.ts";
import { parseCopyRange } from "./ranges.ts";
import {
  copyWhatIsThere,
  type NamedSource,
  namedSource,
  openSource,
  type Source,
} from "./source.ts";

async function copyObject(request: Request): Promise<Answer> {
  const { headers, key, objects, signal, accessKey } = request;
  const owner = accessKey.id;
  refuseUnsupported(headers);
  const isReplaced = directive(request, "x-amz-metadata-directive") === "REPLACE";
  const areTagsReplaced = directive(request, "x-amz-tagging-directive") === "REPLACE";
  const kept = keptHeaders(headers);
  const tags = parseTaggingHeader(headers.get("x-amz-tagging") ?? "");
  const condition = writeCondition(headers);
  const algorithm = copyAlgorithm(headers);
  const named = namedSource(headers);
  const bucket = await request.bucket();
  const isChanged =
    isReplaced || areTagsReplaced || CHANGES.some((name) => headers.get(name) !== undefined);
  const copy = async (change?: Change): Promise<Answer> => {
    const source = await openSource(request, change);
    if (change !== undefined && !isChanged) {
      throw new S3Error(
        "InvalidRequest",
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
      );
    }
    const { object } = source.opened;
    const target = {
      bucket,
      key,
      headers: isReplaced ? kept : copiedHeaders(object.headers, kept),
      tags: areTagsReplaced ? tags : object.tags,
      condition,
      change,
      signal,
    };
    const { etag, time, checksums } = await (algorithm === undefined ||
    hasFullChecksum(source, algorithm)
      ? objects.copyObject({ ...target, source: source.opened, owner })
      : objects.putObject({
          ...target,
          body: copiedBody(objects, source.opened, algorithm, { signal }),
          changes: change && object,
        }));
    return xmlAnswer(
      "CopyObjectResult",
      xml`<LastModified>${isoTime(time)}</LastModified><ETag>"${etag}"</ETag>${checksumsAndTypeXml(checksums)}`,
      encryptionHeaders(target.headers),
    );
  };
  const isOntoItself = isSame(request, named);
  const copying = copyWhatIsThere(() =>
    isOntoItself ? objects.changeObject({ bucket, key, condition, signal }, copy) : copy(),
  );
  return slowAnswer(copying, request);
}

/** What makes a copy of an object onto itself a change, besides its metadata and tags. */
const CHANGES = [
  "x-amz-storage-class",
  "x-amz-website-redirect-location",
  "x-amz-server-side-encryption",
  "x-amz-checksum-algorithm",
] as const;

/** The checksum that a copy is to have. Throws S3Error `InvalidRequest`. */
function copyAlgorithm(headers: RequestHeaders): ChecksumAlgorithm | undefined {
  return headers.has("x-amz-checksum-algorithm") ? requestedAlgorithm(headers) : undefined;
}

function hasFullChecksum({ opened: { object } }: Source, algorithm: ChecksumAlgorithm): boolean {
  const value = object.checksums[algorithm];
  return value !== undefined && checksumType(value) === "FULL_OBJECT";
}

function isSame({ bucketName, key }: Request, source: NamedSource): boolean {
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
  const { headers, query, objects, signal, accessKey } = request;
  const owner = accessKey.id;
  const number = partNumberOf(query);
  namedSource(headers);
  const upload = await findUpload(request);
  const copying = copyWhatIsThere(async () => {
    const { opened } = await openSource(request);
    const range = parseCopyRange(headers.get("x-amz-copy-source-range"), opened.object.size);
    const algorithm = parseAlgorithm(upload.options["checksum-algorithm"] ?? "");
    // Content that is shared has no checksum of its own, and the upload's parts must have one.
    const { etag, time, checksums } = await (algorithm === undefined
      ? objects.copyPart({ upload, number, source: opened, range, signal, owner })
      : objects.putPart({
          upload,
          number,
          body: copiedBody(objects, opened, algorithm, { range, signal }),
          signal,
        }));
    return xmlAnswer(
      "CopyPartResult",
      xml`<LastModified>${isoTime(time)}</LastModified><ETag>"${etag}"</ETag>${checksumsXml(checksums)}`,
    );
  });
  return slowAnswer(copying, request);
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
