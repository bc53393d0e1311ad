import type { ListOptions, Page } from "../../catalog/catalog.ts";
import type { ListedObject, Texts } from "../../catalog/records.ts";
import { allowsObject } from "../../credentials/permissions.ts";
import { S3Error } from "../../errors.ts";
import type { Answer } from "../../http/connection/outgoing.ts";
import { escapeText, keyText, Xml, xml } from "../../xml/write.ts";
import { isoTime, longAnswer, PAGE_BYTES, xmlAnswer } from "../answers.ts";
import { checksumType } from "../checksums.ts";
import type { Operation, Request } from "../operation.ts";
import { ownerXml } from "../owner.ts";
import { countOf, encodingOf } from "../parameters.ts";
import { afterMarker, formatToken, parseToken } from "./position.ts";

/** What the three forms of a list of objects have in common. */
interface Listing {
  readonly prefix: Uint8Array;
  readonly delimiter: Uint8Array;
  readonly encoding: "url" | undefined;
  readonly limit: number;
  readonly page: Page<ListedObject>;
}

/** A page has at most so many entries, objects and common prefixes together. */
const PAGE_MAX = 1000;

async function list(
  request: Request,
  position: Pick<ListOptions, "after" | "isPrefixListed">,
): Promise<Listing> {
  const { query, accessKey, bucketName, catalog } = request;
  const encoding = encodingOf(query);
  const limit = countOf(query, "max-keys", { min: 0, max: PAGE_MAX, standard: PAGE_MAX });
  const prefix = Buffer.from(query.get("prefix") ?? "");
  const delimiter = Buffer.from(query.get("delimiter") ?? "");
  if (!allowsObject(accessKey, "list", bucketName, prefix)) throw new S3Error("AccessDenied");
  const bucket = await request.bucket();
  const page: Page<ListedObject> =
    limit === 0
      ? { entries: [], prefixes: [], next: undefined }
      : await catalog.listObjects({
          bucket: bucket.id,
          prefix,
          ...(delimiter.length > 0 && { delimiter }),
          ...position,
          limit,
        });
  return { prefix, delimiter, encoding, limit, page };
}

/** The older form. The next marker is the last entry of a page, with and without a delimiter. */
async function listV1(request: Request): Promise<Answer> {
  const marker = Buffer.from(request.query.get("marker") ?? "");
  const listing = await list(request, afterMarker(marker, request.query.get("delimiter")));
  const { page, encoding } = listing;
  const next = page.next && lastOf(page);
  return xmlAnswer(
    "ListBucketResult",
    xml`${head(request, listing)}<Marker>${keyText(marker, encoding)}</Marker>${
      next && xml`<NextMarker>${keyText(next, encoding)}</NextMarker>`
    }${objects(listing, "Contents", true)}`,
  );
}

function lastOf({ entries, prefixes }: Page<ListedObject>): Uint8Array | undefined {
  const [entry, prefix] = [entries.at(-1)?.key, prefixes.at(-1)];
  if (entry === undefined || prefix === undefined) return entry ?? prefix;
  return Buffer.compare(entry, prefix) > 0 ? entry : prefix;
}

async function listV2(request: Request): Promise<Answer> {
  const { query } = request;
  const type = query.get("list-type");
  if (type !== "2") {
    throw new S3Error("InvalidArgument", "Invalid List Type specified in Request.", {
      details: { ArgumentName: "list-type", ArgumentValue: type ?? "" },
    });
  }
  const token = query.get("continuation-token");
  const startAfter = query.get("start-after") ?? "";
  const position =
    token === undefined
      ? afterMarker(Buffer.from(startAfter), query.get("delimiter"))
      : parseToken(token, "continuation-token");
  const listing = await list(request, position);
  const { page, encoding } = listing;
  const count = page.entries.length + page.prefixes.length;
  return xmlAnswer(
    "ListBucketResult",
    xml`${head(request, listing)}<KeyCount>${count}</KeyCount>${
      token === undefined ? undefined : xml`<ContinuationToken>${token}</ContinuationToken>`
    }${
      startAfter === ""
        ? undefined
        : xml`<StartAfter>${keyText(Buffer.from(startAfter), encoding)}</StartAfter>`
    }${
      page.next && xml`<NextContinuationToken>${formatToken(page.next)}</NextContinuationToken>`
    }${objects(listing, "Contents", query.get("fetch-owner") === "true")}`,
  );
}

/** Every object has one version, `null`. */
async function listVersions(request: Request): Promise<Answer> {
  const { query } = request;
  const keyMarker = Buffer.from(query.get("key-marker") ?? "");
  const versionMarker = query.get("version-id-marker") ?? "";
  if (versionMarker !== "" && keyMarker.length === 0) {
    throw new S3Error(
      "InvalidArgument",
      "A version-id marker cannot be specified without a key marker.",
      { details: { ArgumentName: "version-id-marker", ArgumentValue: versionMarker } },
    );
  }
  const listing = await list(request, afterMarker(keyMarker, query.get("delimiter")));
  const { page, encoding } = listing;
  const next = page.next && lastOf(page);
  return xmlAnswer(
    "ListVersionsResult",
    xml`${head(request, listing)}<KeyMarker>${keyText(keyMarker, encoding)}</KeyMarker><VersionIdMarker>${versionMarker}</VersionIdMarker>${
      next &&
      xml`<NextKeyMarker>${keyText(next, encoding)}</NextKeyMarker>${
        // A common prefix has no version.
        next === page.prefixes.at(-1)
          ? undefined
          : xml`<NextVersionIdMarker>null</NextVersionIdMarker>`
      }`
    }${objects(listing, "Version", true)}`,
  );
}

function head(request: Request, { prefix, delimiter, encoding, limit, page }: Listing): Xml {
  return xml`<Name>${request.bucketName}</Name><Prefix>${keyText(prefix, encoding)}</Prefix>${
    delimiter.length === 0 ? undefined : xml`<Delimiter>${keyText(delimiter, encoding)}</Delimiter>`
  }<MaxKeys>${limit}</MaxKeys>${
    encoding && xml`<EncodingType>${encoding}</EncodingType>`
  }<IsTruncated>${page.next !== undefined}</IsTruncated>`;
}

/** Put together as text: a page has a thousand entries, and is answered in milliseconds. */
function objects(
  { page, encoding }: Listing,
  element: "Contents" | "Version",
  withOwner: boolean,
): Xml {
  const owner = withOwner ? ownerXml("Owner").markup : "";
  const end = element === "Contents" ? "" : "<VersionId>null</VersionId><IsLatest>true</IsLatest>";
  let markup = "";
  for (const { key, time, etag, size, checksums } of page.entries) {
    markup += `<${element}><Key>${escapeText(keyText(key, encoding))}</Key><LastModified>${isoTime(time)}</LastModified><ETag>"${escapeText(etag)}"</ETag>${algorithms(checksums)}<Size>${size}</Size>${owner}<StorageClass>STANDARD</StorageClass>${end}</${element}>`;
  }
  for (const prefix of page.prefixes) {
    markup += `<CommonPrefixes><Prefix>${escapeText(keyText(prefix, encoding))}</Prefix></CommonPrefixes>`;
  }
  return new Xml(markup);
}

function algorithms(checksums: Texts): string {
  let markup = "";
  for (const [name, value] of Object.entries(checksums)) {
    markup += `<ChecksumAlgorithm>${escapeText(name.toUpperCase())}</ChecksumAlgorithm><ChecksumType>${checksumType(value)}</ChecksumType>`;
  }
  return markup;
}

const COMMON = ["prefix", "delimiter", "max-keys", "encoding-type"];

export const LIST_OPERATIONS: readonly Operation[] = [
  {
    name: "ListObjects",
    level: "bucket",
    method: "GET",
    parameters: [...COMMON, "marker"],
    right: "list",
    scope: "some",
    run: (request) => longAnswer(request, PAGE_BYTES, () => listV1(request)),
  },
  {
    name: "ListObjectsV2",
    level: "bucket",
    method: "GET",
    selectors: ["list-type"],
    parameters: [...COMMON, "continuation-token", "start-after", "fetch-owner"],
    right: "list",
    scope: "some",
    run: (request) => longAnswer(request, PAGE_BYTES, () => listV2(request)),
  },
  {
    name: "ListObjectVersions",
    level: "bucket",
    method: "GET",
    selectors: ["versions"],
    parameters: [...COMMON, "key-marker", "version-id-marker"],
    right: "list",
    scope: "some",
    run: (request) => longAnswer(request, PAGE_BYTES, () => listVersions(request)),
  },
];
