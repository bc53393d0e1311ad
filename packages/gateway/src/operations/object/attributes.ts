import type { StoredObject } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import { type Xml, xml } from "../../xml/write.ts";
import { httpTime, longAnswer, PAGE_BYTES, xmlAnswer } from "../answers.ts";
import { checksumsAndTypeXml, checksumsXml } from "../checksums.ts";
import { findObject } from "../find.ts";
import type { Operation, Request } from "../operation.ts";
import { refuseClientKeys } from "../requests.ts";
import { countOf } from "../parameters.ts";

const ATTRIBUTES = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"] as const;
type Attribute = (typeof ATTRIBUTES)[number];

async function getObjectAttributes(request: Request): Promise<Answer> {
  refuseClientKeys(request.headers);
  await request.bucket();
  const asked = attributesOf(request.headers.get("x-amz-object-attributes") ?? "");
  const object = await findObject(request);
  const { etag, checksums, size, time } = object;
  const hasChecksum = Object.keys(checksums).length > 0;
  const content: Record<Attribute, Xml | undefined> = {
    ETag: xml`<ETag>${etag}</ETag>`,
    Checksum: hasChecksum ? xml`<Checksum>${checksumsAndTypeXml(checksums)}</Checksum>` : undefined,
    ObjectParts:
      asked.has("ObjectParts") && object.parts > 0 ? await partsXml(request, object) : undefined,
    StorageClass: xml`<StorageClass>STANDARD</StorageClass>`,
    ObjectSize: xml`<ObjectSize>${size}</ObjectSize>`,
  };
  return xmlAnswer(
    "GetObjectAttributesResponse",
    xml`${ATTRIBUTES.flatMap((name) => (asked.has(name) ? (content[name] ?? []) : []))}`,
    { "last-modified": httpTime(time) },
  );
}

/** @throws S3Error `InvalidRequest`, `InvalidArgument` */
function attributesOf(header: string): ReadonlySet<Attribute> {
  if (header.trim() === "") {
    throw new S3Error(
      "InvalidRequest",
      "The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty",
    );
  }
  const names = header.split(",").map((name) => name.trim());
  const known = ATTRIBUTES.filter((name) => names.includes(name));
  if (known.length === new Set(names).size) return new Set(known);
  throw new S3Error("InvalidArgument", "Invalid attribute name specified.", {
    details: { ArgumentName: "x-amz-object-attributes" },
  });
}

async function partsXml({ headers, catalog }: Request, object: StoredObject): Promise<Xml> {
  const max = countOf(headers, "x-amz-max-parts", { min: 0, max: 1000, standard: 1000 });
  const marker = countOf(headers, "x-amz-part-number-marker", {
    min: 0,
    max: 10_000,
    standard: 0,
  });
  const found = await catalog.listObjectParts(object, marker, max + 1);
  const parts = found.slice(0, max);
  // S3 lists them only with their checksums.
  const listed = parts.filter(({ checksums }) => Object.keys(checksums).length > 0);
  return xml`<ObjectParts><TotalPartsCount>${object.parts}</TotalPartsCount><PartNumberMarker>${marker}</PartNumberMarker><NextPartNumberMarker>${parts.at(-1)?.number ?? 0}</NextPartNumberMarker><MaxParts>${max}</MaxParts><IsTruncated>${found.length > max && max > 0}</IsTruncated>${listed.map(
    ({ number, size, checksums }) =>
      xml`<Part>${checksumsXml(checksums)}<PartNumber>${number}</PartNumber><Size>${size}</Size></Part>`,
  )}</ObjectParts>`;
}

export const ATTRIBUTES_OPERATIONS: readonly Operation[] = [
  {
    name: "GetObjectAttributes",
    level: "object",
    method: "GET",
    selectors: ["attributes"],
    parameters: ["versionId"],
    right: "read",
    scope: "object",
    run: (request) => longAnswer(request, PAGE_BYTES, () => getObjectAttributes(request)),
  },
];
