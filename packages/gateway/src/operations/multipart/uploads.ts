import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  parseAlgorithm,
} from "../../body/algorithms.ts";
import type { Upload } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import type { RequestHeaders } from "../../signature/request.ts";
import { parseTaggingHeader } from "../../xml/tags.ts";
import { keyText, xml } from "../../xml/write.ts";
import { emptyAnswer, xmlAnswer } from "../answers.ts";
import { contentOf, MEMORY_WAIT_MS } from "../bodies.ts";
import { checksumHeaders, type ChecksumType, requestedAlgorithm } from "../checksums.ts";
import { keptHeaders } from "../object/headers.ts";
import { PUT_MAX } from "../object/put.ts";
import type { Operation, Request } from "../operation.ts";
import { partNumberOf } from "../parameters.ts";
import { encryptionHeaders, refuseUnsupported } from "../requests.ts";
import { findUpload } from "./upload.ts";

async function createUpload(request: Request): Promise<Answer> {
  const { headers, key, bucketName, catalog, accessKey, now } = request;
  refuseUnsupported(headers);
  const kept = keptHeaders(headers);
  const tags = parseTaggingHeader(headers.get("x-amz-tagging") ?? "");
  const algorithm = requestedAlgorithm(headers);
  const type = checksumTypeOf(headers, algorithm);
  const bucket = await request.bucket();
  const upload = await catalog.createUpload({
    bucket: bucket.id,
    key,
    owner: accessKey.id,
    time: now(),
    headers: kept,
    tags,
    options:
      algorithm === undefined || type === undefined
        ? {}
        : { "checksum-algorithm": algorithm, "checksum-type": type },
  });
  if (upload === undefined) throw new S3Error("NoSuchBucket");
  return xmlAnswer(
    "InitiateMultipartUploadResult",
    xml`<Bucket>${bucketName}</Bucket><Key>${keyText(key, undefined)}</Key><UploadId>${upload.id}</UploadId>`,
    {
      ...encryptionHeaders(kept),
      ...(algorithm !== undefined &&
        type !== undefined && {
          "x-amz-checksum-algorithm": algorithm.toUpperCase(),
          "x-amz-checksum-type": type,
        }),
    },
  );
}

/** @throws S3Error `InvalidRequest` for a type that the algorithm does not have */
function checksumTypeOf(
  headers: RequestHeaders,
  algorithm: ChecksumAlgorithm | undefined,
): ChecksumType | undefined {
  const given = headers.get("x-amz-checksum-type")?.toUpperCase();
  if (given !== undefined && given !== "COMPOSITE" && given !== "FULL_OBJECT") {
    throw new S3Error("InvalidRequest", "Value for x-amz-checksum-type header is invalid.");
  }
  if (algorithm === undefined) {
    if (given === undefined) return undefined;
    throw new S3Error(
      "InvalidRequest",
      "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.",
    );
  }
  const isLinear = algorithm.startsWith("crc");
  const type = given ?? (algorithm === "crc64nvme" ? "FULL_OBJECT" : "COMPOSITE");
  const isPossible =
    (type === "FULL_OBJECT" && isLinear) || (type === "COMPOSITE" && algorithm !== "crc64nvme");
  if (isPossible) return type;
  throw new S3Error(
    "InvalidRequest",
    `The ${type} checksum type cannot be used with the ${algorithm} checksum algorithm.`,
  );
}

async function uploadPart(request: Request): Promise<Answer> {
  const { query, headers, objects, signal } = request;
  refuseUnsupported(headers);
  const number = partNumberOf(query);
  const upload = await findUpload(request);
  const algorithm = partAlgorithm(upload, headers);
  const body = contentOf(request.body({ maxLength: PUT_MAX, algorithm }));
  const { etag, checksums } = await objects.putPart({
    upload,
    number,
    body,
    signal,
    memoryWaitMs: MEMORY_WAIT_MS,
  });
  const { "x-amz-checksum-type": _, ...sums } = checksumHeaders(checksums);
  return emptyAnswer(200, { etag: `"${etag}"`, ...sums });
}

/** The algorithm of the upload. Throws S3Error `InvalidRequest` if the part has another one, or lacks it. */
function partAlgorithm(
  { options }: Upload,
  headers: RequestHeaders,
): ChecksumAlgorithm | undefined {
  const algorithm = parseAlgorithm(options["checksum-algorithm"] ?? "");
  if (algorithm === undefined) return undefined;
  const trailer = headers.get("x-amz-trailer")?.toLowerCase();
  const given = CHECKSUM_ALGORITHMS.find((name) => {
    const header = `x-amz-checksum-${name}`;
    return headers.has(header) || trailer === header;
  });
  if (given === algorithm) return algorithm;
  // Of the whole object's bytes, the checksum needs no word of the client about each part.
  if (given === undefined && options["checksum-type"] === "FULL_OBJECT") return algorithm;
  throw new S3Error(
    "InvalidRequest",
    `Checksum Type mismatch occurred, expected checksum Type: ${algorithm.toUpperCase()}, actual checksum Type: ${given?.toUpperCase() ?? "null"}`,
  );
}

async function abortUpload(request: Request): Promise<Answer> {
  const { headers, objects } = request;
  const upload = await findUpload(request);
  checkInitiated(headers.get("x-amz-if-match-initiated-time"), upload);
  await objects.abortUpload(upload);
  return emptyAnswer(204);
}

/** @throws S3Error `PreconditionFailed`, `InvalidArgument` if the condition is no time */
function checkInitiated(header: string | undefined, { time }: Upload): void {
  if (header === undefined) return;
  const wanted = Date.parse(header);
  if (Number.isNaN(wanted)) {
    throw new S3Error("InvalidArgument", "The condition is not valid.", {
      details: { ArgumentName: "x-amz-if-match-initiated-time", ArgumentValue: header },
    });
  }
  // No upload can have been created then. AWS takes such a time for no condition.
  if (wanted > Date.now()) return;
  // Clients know it to the second, from headers, or to the millisecond, from lists.
  if (Math.floor(wanted / 1000) !== Math.floor(time / 1000))
    throw new S3Error("PreconditionFailed");
}

export const UPLOAD_OPERATIONS: readonly Operation[] = [
  {
    name: "CreateMultipartUpload",
    level: "object",
    method: "POST",
    selectors: ["uploads"],
    right: "write",
    scope: "object",
    run: createUpload,
  },
  {
    name: "UploadPart",
    level: "object",
    method: "PUT",
    selectors: ["partNumber", "uploadId"],
    right: "write",
    scope: "object",
    run: uploadPart,
  },
  {
    name: "AbortMultipartUpload",
    level: "object",
    method: "DELETE",
    selectors: ["uploadId"],
    right: "write",
    scope: "object",
    run: abortUpload,
  },
];
