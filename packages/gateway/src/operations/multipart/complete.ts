import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  parseAlgorithm,
  parseDigest,
} from "../../body/algorithms.ts";
import { compositeChecksum, fullObjectChecksum, multipartEtag } from "../../body/multipart.ts";
import type { CompletedUpload } from "../../catalog/catalog.ts";
import type { Part, Texts, Upload } from "../../catalog/records.ts";
import { multipleChecksums } from "../../body/plan.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import { type CompletePart, parseCompleteUpload, LONG_XML_MAX } from "../../xml/bodies.ts";
import { keyText, xml } from "../../xml/write.ts";
import { xmlAnswer } from "../answers.ts";
import { readAndHold } from "../bodies.ts";
import { checksumsAndTypeXml } from "../checksums.ts";
import { writeCondition } from "../conditions.ts";
import type { Operation, Request } from "../operation.ts";
import { encryptionHeaders } from "../requests.ts";
import { slowAnswer } from "../slow-answer.ts";
import { findUpload } from "./upload.ts";

/** The least bytes of every part but the last. */
const PART_MIN = 5 * 2 ** 20;
const PAGE = 1000;

async function completeUpload(request: Request): Promise<Answer> {
  const { headers, objects, signal, accessKey } = request;
  const condition = writeCondition(headers);
  const bucket = await request.bucket();
  checkHeaders(headers);
  const { body, share } = await readAndHold(request, {
    maxLength: LONG_XML_MAX,
    hasObjectChecksum: true,
  });
  // Until nothing of the body is held: completing may take long.
  const checked = await checkedUpload(request, bucket.id, body).finally(() => share?.release());
  if ("earlier" in checked) return answer(request, checked.earlier.object, {});
  return slowAnswer(
    objects
      .completeUpload({ bucket, ...checked, condition, signal, owner: accessKey.id })
      .then((completion) => answer(request, completion, checked.upload.headers)),
    request,
  );
}

/** The upload that a request completes, after all checks; or the object, if it was completed earlier. */
async function checkedUpload(request: Request, bucket: number, body: Uint8Array) {
  const { headers } = request;
  const listed = parseCompleteUpload(body);
  const earlier = await findEarlier(request, bucket);
  if (earlier !== undefined) return { earlier };
  const upload = await findUpload(request);
  const parts = await findParts(request, upload, listed);
  checkSize(headers.get("x-amz-mp-object-size"), parts);
  const checksums = await checksumsOf(upload, parts);
  checkChecksum(headers, upload, checksums);
  const etag = multipartEtag(parts.map((part) => Buffer.from(part.etag, "hex")));
  return { upload, parts, etag, checksums };
}

/** A client that did not hear of the outcome asks again. */
async function findEarlier(
  { catalog, key, query }: Request,
  bucket: number,
): Promise<CompletedUpload | undefined> {
  return catalog.findCompleted(bucket, key, query.get("uploadId") ?? "");
}

function answer(
  { bucketName, key, origin, rawPath }: Request,
  { etag, checksums }: { readonly etag: string; readonly checksums: Texts },
  kept: Texts,
): Answer {
  return xmlAnswer(
    "CompleteMultipartUploadResult",
    xml`<Location>${origin}${rawPath}</Location><Bucket>${bucketName}</Bucket><Key>${keyText(key, undefined)}</Key><ETag>"${etag}"</ETag>${checksumsAndTypeXml(checksums)}`,
    encryptionHeaders(kept),
  );
}

/**
 * The parts that a request lists.
 *
 * @throws S3Error `InvalidPartOrder`, `InvalidPart`, `EntityTooSmall`
 */
async function findParts(
  { catalog }: Request,
  upload: Upload,
  listed: readonly CompletePart[],
): Promise<readonly Part[]> {
  let previous = 0;
  for (const { number } of listed) {
    if (number <= previous) throw new S3Error("InvalidPartOrder");
    previous = number;
  }
  checkListedChecksums(upload, listed);
  const stored = new Map<number, Part>();
  for (let after = 0; ;) {
    const page = await catalog.listParts(upload, after, PAGE);
    for (const part of page) stored.set(part.number, part);
    after = page.at(-1)?.number ?? 0;
    if (page.length < PAGE) break;
  }
  const parts = listed.map((wanted): Part => {
    const part = stored.get(wanted.number);
    if (part !== undefined && isSame(part, wanted)) return part;
    throw new S3Error("InvalidPart", undefined, {
      details: { UploadId: upload.id, PartNumber: wanted.number, ETag: wanted.etag },
    });
  });
  for (const part of parts.slice(0, -1)) {
    if (part.size >= PART_MIN) continue;
    throw new S3Error("EntityTooSmall", undefined, {
      details: {
        ProposedSize: part.size,
        MinSizeAllowed: PART_MIN,
        PartNumber: part.number,
        ETag: part.etag,
      },
    });
  }
  return parts;
}

/** @throws S3Error `BadDigest` for another algorithm; `InvalidRequest` if a composite checksum lacks a part's */
function checkListedChecksums({ options }: Upload, listed: readonly CompletePart[]): void {
  const algorithm = parseAlgorithm(options["checksum-algorithm"] ?? "");
  if (algorithm === undefined) return;
  for (const { number, checksums } of listed) {
    const other = CHECKSUM_ALGORITHMS.find(
      (name) => name !== algorithm && checksums[name] !== undefined,
    );
    if (other !== undefined) {
      const message = `The ${other} you specified for part ${number} did not match what we received.`;
      throw new S3Error("BadDigest", message);
    }
    if (options["checksum-type"] === "COMPOSITE" && checksums[algorithm] === undefined) {
      throw new S3Error(
        "InvalidRequest",
        `The upload was created using a ${algorithm} checksum. The complete request must include the checksum for each part. It was missing for part ${number} in the request.`,
      );
    }
  }
}

/** What the client states of a part must be known of it: a checksum that nobody computed is not. */
function isSame({ etag, checksums }: Part, wanted: CompletePart): boolean {
  return (
    etag === wanted.etag &&
    CHECKSUM_ALGORITHMS.every((name) => {
      const given = wanted.checksums[name];
      return given === undefined || given === checksums[name];
    })
  );
}

function checkSize(header: string | undefined, parts: readonly Part[]): void {
  if (header === undefined) return;
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  if (!/^-?\d{1,15}$/u.test(header)) {
    throw new S3Error(
      "InvalidRequest",
      `Value for x-amz-mp-object-size header is invalid: '${header}'`,
    );
  }
  if (header.startsWith("-")) {
    throw new S3Error(
      "InvalidRequest",
      `Value for x-amz-mp-object-size header is less than zero: '${header}'`,
    );
  }
  if (Number(header) === size) return;
  throw new S3Error(
    "InvalidRequest",
    `The provided 'x-amz-mp-object-size' header value ${header} does not match what was computed: ${size}`,
  );
}

/**
 * The object's checksum, of the algorithm that the upload was created with.
 *
 * @throws S3Error `InvalidPart` for a part without one: the object must not be without its checksum
 */
async function checksumsOf({ options }: Upload, parts: readonly Part[]): Promise<Texts> {
  const algorithm = parseAlgorithm(options["checksum-algorithm"] ?? "");
  if (algorithm === undefined) return {};
  const sums = parts.map(({ checksums, size, number }) => {
    const value = checksums[algorithm];
    if (value !== undefined) return { value, size };
    throw new S3Error("InvalidPart", `Part ${number} has no ${algorithm} checksum.`);
  });
  if (options["checksum-type"] === "COMPOSITE" && algorithm !== "crc64nvme") {
    return { [algorithm]: await compositeChecksum(algorithm, sums) };
  }
  return isLinear(algorithm) ? { [algorithm]: fullObjectChecksum(algorithm, sums) } : {};
}

function isLinear(
  algorithm: ChecksumAlgorithm,
): algorithm is Extract<ChecksumAlgorithm, `crc${string}`> {
  return algorithm.startsWith("crc");
}

/** @throws S3Error `BadDigest`, `InvalidRequest` if the client expects another checksum */
function checkChecksum(headers: Request["headers"], { options }: Upload, checksums: Texts): void {
  const type = headers.get("x-amz-checksum-type")?.toUpperCase();
  const expected = options["checksum-type"];
  if (type !== undefined && expected !== undefined && type !== expected) {
    throw new S3Error(
      "InvalidRequest",
      `The upload was created using the ${expected} checksum mode. The complete request must use the same checksum mode.`,
    );
  }
  for (const name of CHECKSUM_ALGORITHMS) {
    const [given, computed] = [headers.get(`x-amz-checksum-${name}`), checksums[name]];
    if (given === undefined) continue;
    if (computed === undefined) {
      throw new S3Error(
        "InvalidRequest",
        `The upload was not created using a ${name} checksum, so that the one in the complete request cannot be checked.`,
      );
    }
    // Of a composite checksum, clients may leave out the number of parts.
    if (given === computed || given === computed.split("-")[0]) continue;
    throw new S3Error(
      "BadDigest",
      `The ${name.toUpperCase()} you specified did not match the calculated checksum.`,
    );
  }
}

/**
 * Checks that what the headers state of the object's checksum can be one.
 *
 * @throws S3Error `InvalidRequest`
 */
function checkHeaders(headers: Request["headers"]): void {
  const type = headers.get("x-amz-checksum-type")?.toUpperCase() ?? "COMPOSITE";
  if (type !== "COMPOSITE" && type !== "FULL_OBJECT") throw invalidHeader("x-amz-checksum-type");
  const names = CHECKSUM_ALGORITHMS.filter((name) => headers.has(`x-amz-checksum-${name}`));
  if (names.length > 1) throw multipleChecksums();
  for (const name of names) {
    const header = `x-amz-checksum-${name}`;
    const value = headers.get(header)!.replace(/-\d{1,5}$/u, "");
    if (parseDigest(name, value) === undefined) throw invalidHeader(header);
  }
}

function invalidHeader(name: string): S3Error {
  return new S3Error("InvalidRequest", `Value for ${name} header is invalid.`);
}

export const COMPLETE_OPERATIONS: readonly Operation[] = [
  {
    name: "CompleteMultipartUpload",
    level: "object",
    method: "POST",
    selectors: ["uploadId"],
    right: "write",
    scope: "object",
    run: completeUpload,
  },
];
