import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm } from "../body/algorithms.ts";
import { type XmlElement, childrenOf, malformed, parseXml } from "./read.ts";
import { S3Error } from "../errors.ts";

/** The most bytes that the body of Complete or DeleteObjects may have: pass it to `planBody`. */
export const LONG_XML_MAX: number = 4 * 2 ** 20;

/** The most bytes, and elements, of any other body of XML. */
export const SHORT_XML_MAX: number = 64 * 1024;
export const SHORT_XML_ELEMENTS = 1000;

/** A part as CompleteMultipartUpload names it. */
export interface CompletePart {
  /** 1 to 10,000. */
  readonly number: number;
  /** Without quotes. */
  readonly etag: string;
  /** Base64 by algorithm. */
  readonly checksums: Partial<Readonly<Record<ChecksumAlgorithm, string>>>;
}

/** An object as DeleteObjects names it. */
export interface DeleteEntry {
  /** 1 or more bytes of UTF-8; may be longer than a key can be. */
  readonly key: Uint8Array;
  readonly versionId: string | undefined;
  /** Without quotes; a condition. */
  readonly etag: string | undefined;
  /** Bytes; a condition. */
  readonly size: number | undefined;
  /** Milliseconds since 1970; a condition. */
  readonly lastModified: number | undefined;
}

const PARTS_MAX = 10_000;
const ENTRIES_MAX = 1000;
/** An entry has six elements with its own. */
const DELETE_ELEMENTS = 2 + 6 * ENTRIES_MAX;

/**
 * The body of CompleteMultipartUpload: 1 to 10,000 parts, in the order sent.
 *
 * @throws S3Error `MalformedXML`, `InvalidArgument` for a part's number
 */
export function parseCompleteUpload(body: Uint8Array): readonly CompletePart[] {
  const { children } = parseXml(body, "CompleteMultipartUpload");
  if (children.length === 0 || children.length > PARTS_MAX) throw malformed();
  return children.map((element) => {
    if (element.name !== "Part") throw malformed();
    const fields = childrenOf(element, ["PartNumber", "ETag", ...CHECKSUM_NAMES]);
    const checksums: Partial<Record<ChecksumAlgorithm, string>> = {};
    for (const algorithm of CHECKSUM_ALGORITHMS) {
      const value = textOf(fields, `Checksum${algorithm.toUpperCase()}`);
      if (value !== undefined) checksums[algorithm] = value.trim();
    }
    const etag = etagOf(fields);
    if (etag === undefined) throw malformed();
    return { number: partNumber(textOf(fields, "PartNumber") ?? ""), etag, checksums };
  });
}

const CHECKSUM_NAMES = CHECKSUM_ALGORITHMS.map((name) => `Checksum${name.toUpperCase()}`);

function partNumber(text: string): number {
  if (!/^\s*-?\d{1,15}\s*$/u.test(text)) throw malformed();
  const number = Number(text);
  if (number < 1) throw new S3Error("InvalidArgument", "PartNumber must be >= 1");
  if (number > PARTS_MAX) {
    throw new S3Error(
      "InvalidArgument",
      `Part number must be an integer between 1 and ${PARTS_MAX}, inclusive`,
    );
  }
  return number;
}

/** The body of DeleteObjects: 1 to 1,000 entries. @throws S3Error `MalformedXML` */
export function parseDelete(body: Uint8Array): {
  readonly isQuiet: boolean;
  readonly entries: readonly DeleteEntry[];
} {
  const { children } = parseXml(body, "Delete", DELETE_ELEMENTS);
  const objects = children.filter(({ name }) => name === "Object");
  const [quiet, ...others] = children.filter(({ name }) => name !== "Object");
  const isQuiet = quiet?.text.trim() ?? "false";
  if (others.length > 0 || (quiet !== undefined && quiet.name !== "Quiet")) throw malformed();
  if (isQuiet !== "true" && isQuiet !== "false") throw malformed();
  if (objects.length === 0 || objects.length > ENTRIES_MAX) throw malformed();
  return { isQuiet: isQuiet === "true", entries: objects.map(deleteEntry) };
}

function deleteEntry(element: XmlElement): DeleteEntry {
  const fields = childrenOf(element, ["Key", "VersionId", "ETag", "Size", "LastModifiedTime"]);
  const key = new TextEncoder().encode(textOf(fields, "Key") ?? "");
  if (key.length === 0) throw malformed();
  const size = textOf(fields, "Size")?.trim();
  if (size !== undefined && !/^\d{1,15}$/u.test(size)) throw malformed();
  const time = textOf(fields, "LastModifiedTime")?.trim();
  const lastModified = time === undefined ? undefined : Date.parse(time);
  if (Number.isNaN(lastModified)) throw malformed();
  return {
    key,
    versionId: detached(textOf(fields, "VersionId")),
    etag: detached(etagOf(fields)),
    size: size === undefined ? undefined : Number(size),
    lastModified,
  };
}

/** The body of CreateBucket, which may be empty: its region. @throws S3Error `MalformedXML` */
export function parseCreateBucket(body: Uint8Array): string | undefined {
  if (body.length === 0) return undefined;
  const root = parseXml(body, "CreateBucketConfiguration", SHORT_XML_ELEMENTS);
  const fields = childrenOf(root, ["LocationConstraint", "Location", "Bucket", "Tags"]);
  // Directory buckets, and tags at creation.
  if (["Location", "Bucket", "Tags"].some((name) => fields.has(name))) {
    throw new S3Error("NotImplemented");
  }
  const region = textOf(fields, "LocationConstraint")?.trim();
  return region === "" ? undefined : region;
}

/** An element without children. */
function textOf(fields: ReadonlyMap<string, XmlElement>, name: string): string | undefined {
  const element = fields.get(name);
  if (element !== undefined && element.children.length > 0) throw malformed();
  return element?.text;
}

/** A text with memory of its own: a part of a string keeps all of it, here the whole body. */
function detached(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text).toString();
}

function etagOf(fields: ReadonlyMap<string, XmlElement>): string | undefined {
  return textOf(fields, "ETag")
    ?.trim()
    .replace(/^"(.*)"$/su, "$1");
}
