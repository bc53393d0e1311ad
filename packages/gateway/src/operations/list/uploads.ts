import type { Page } from "../../catalog/catalog.ts";
import type { Upload } from "../../catalog/records.ts";
import { allowsObject } from "../../credentials/permissions.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import { keyText, xml } from "../../xml/write.ts";
import { isoTime, longAnswer, PAGE_BYTES, xmlAnswer } from "../answers.ts";
import { checksumsXml } from "../checksums.ts";
import { findUpload } from "../multipart/upload.ts";
import type { Operation, Request } from "../operation.ts";
import { ownerXml } from "../owner.ts";
import { countOf, encodingOf } from "../parameters.ts";
import { afterMarker } from "./position.ts";

const PAGE_MAX = 1000;

async function listUploads(request: Request): Promise<Answer> {
  const { query, accessKey, bucketName, catalog } = request;
  const encoding = encodingOf(query);
  const limit = countOf(query, "max-uploads", { min: 0, max: PAGE_MAX, standard: PAGE_MAX });
  const [prefix, delimiter, keyMarker] = ["prefix", "delimiter", "key-marker"].map((name) =>
    Buffer.from(query.get(name) ?? ""),
  ) as [Buffer, Buffer, Buffer];
  // Without a key marker, it is ignored.
  const idMarker = keyMarker.length === 0 ? "" : (query.get("upload-id-marker") ?? "");
  if (!allowsObject(accessKey, "list", bucketName, prefix)) throw new S3Error("AccessDenied");
  const bucket = await request.bucket();
  const page: Page<Upload> =
    limit === 0
      ? { entries: [], prefixes: [], next: undefined }
      : await catalog.listUploads({
          bucket: bucket.id,
          prefix,
          ...(delimiter.length > 0 && { delimiter }),
          // With an upload's id, the marker is that upload's key, and no common prefix.
          ...(idMarker === ""
            ? afterMarker(keyMarker, query.get("delimiter"))
            : { after: keyMarker, afterId: idMarker }),
          limit,
        });
  return xmlAnswer(
    "ListMultipartUploadsResult",
    xml`<Bucket>${bucketName}</Bucket><KeyMarker>${keyText(keyMarker, encoding)}</KeyMarker><UploadIdMarker>${idMarker}</UploadIdMarker>${
      page.next &&
      xml`<NextKeyMarker>${keyText(page.next.after, encoding)}</NextKeyMarker><NextUploadIdMarker>${page.next.afterId ?? ""}</NextUploadIdMarker>`
    }<Prefix>${keyText(prefix, encoding)}</Prefix>${
      delimiter.length === 0
        ? undefined
        : xml`<Delimiter>${keyText(delimiter, encoding)}</Delimiter>`
    }<MaxUploads>${limit}</MaxUploads>${
      encoding && xml`<EncodingType>${encoding}</EncodingType>`
    }<IsTruncated>${page.next !== undefined}</IsTruncated>${page.entries.map(
      ({ key, id, time, options }) =>
        xml`<Upload><Key>${keyText(key, encoding)}</Key><UploadId>${id}</UploadId>${ownerXml("Initiator")}${ownerXml("Owner")}<StorageClass>STANDARD</StorageClass><Initiated>${isoTime(time)}</Initiated>${algorithmXml(options)}</Upload>`,
    )}${page.prefixes.map(
      (common) =>
        xml`<CommonPrefixes><Prefix>${keyText(common, encoding)}</Prefix></CommonPrefixes>`,
    )}`,
  );
}

async function listParts(request: Request): Promise<Answer> {
  const { query, bucketName, key, catalog } = request;
  const encoding = encodingOf(query);
  const limit = countOf(query, "max-parts", { min: 0, max: PAGE_MAX, standard: PAGE_MAX });
  const after = countOf(query, "part-number-marker", { min: 0, max: 10_000, standard: 0 });
  const upload = await findUpload(request);
  // One more shows whether there are more.
  const found = await catalog.listParts(upload, after, limit + 1);
  const parts = found.slice(0, limit);
  return xmlAnswer(
    "ListPartsResult",
    xml`<Bucket>${bucketName}</Bucket>${
      encoding && xml`<EncodingType>${encoding}</EncodingType>`
    }<Key>${keyText(key, encoding)}</Key><UploadId>${upload.id}</UploadId>${ownerXml("Initiator")}${ownerXml("Owner")}<StorageClass>STANDARD</StorageClass><PartNumberMarker>${after}</PartNumberMarker><NextPartNumberMarker>${parts.at(-1)?.number ?? 0}</NextPartNumberMarker><MaxParts>${limit}</MaxParts><IsTruncated>${found.length > limit && limit > 0}</IsTruncated>${parts.map(
      ({ number, time, etag, size, checksums }) =>
        xml`<Part><PartNumber>${number}</PartNumber><LastModified>${isoTime(time)}</LastModified><ETag>"${etag}"</ETag><Size>${size}</Size>${checksumsXml(checksums)}</Part>`,
    )}${algorithmXml(upload.options)}`,
  );
}

function algorithmXml(options: Upload["options"]): ReturnType<typeof xml> | undefined {
  const { "checksum-algorithm": algorithm, "checksum-type": type } = options;
  return algorithm === undefined
    ? undefined
    : xml`<ChecksumAlgorithm>${algorithm.toUpperCase()}</ChecksumAlgorithm><ChecksumType>${type}</ChecksumType>`;
}

export const LIST_UPLOADS_OPERATIONS: readonly Operation[] = [
  {
    name: "ListMultipartUploads",
    level: "bucket",
    method: "GET",
    selectors: ["uploads"],
    parameters: [
      "prefix",
      "delimiter",
      "key-marker",
      "upload-id-marker",
      "max-uploads",
      "encoding-type",
    ],
    right: "list",
    scope: "some",
    run: (request) => longAnswer(request, PAGE_BYTES, () => listUploads(request)),
  },
  {
    name: "ListParts",
    level: "object",
    method: "GET",
    selectors: ["uploadId"],
    parameters: ["max-parts", "part-number-marker", "encoding-type"],
    right: "list",
    scope: "object",
    run: (request) => longAnswer(request, PAGE_BYTES, () => listParts(request)),
  },
];
