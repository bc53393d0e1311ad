import { linkedAbort, throwIfAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import {
  isBlobName,
  isMarkerName,
  type ListedBlob,
  type ListMarkersOptions,
  type Marker,
  MARKERS,
} from "../../backend.ts";
import { childrenOf, invalidResult, textOf, type XmlElement } from "../http/xml.ts";
import { type BucketContext, describeObject } from "../bucket-context.ts";
import { isTruncated, MAX_TOKEN, noContinuation, queryBucket } from "./bucket.ts";

/** Keys per page: the protocol's maximum. */
const PAGE = 1000;

/**
 * How many pages in a row may have no new blob or marker, only other writers' keys: ten million of those. A
 * server that returns pages for ever is then noticed, although each page arrives in time.
 */
const MAX_PAGES_WITHOUT_NAME = 10_000;

/** The blobs in the bucket, in the order of their names, fetched page by page. */
export async function* listBlobs(
  bucket: BucketContext,
  prefix: string,
  after: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedBlob> {
  for await (const { name, size, storedAt } of listObjects(bucket, {
    folder: "",
    isName: isBlobName,
    prefix,
    after,
    signal,
  })) {
    yield { name, size, ...(storedAt !== undefined && { storedAt }) };
  }
}

/** The markers in the bucket, in the order of their names. */
export async function* listMarkers(
  bucket: BucketContext,
  prefix: string,
  { after = "", limit, signal }: ListMarkersOptions,
): AsyncGenerator<Marker> {
  let left = limit ?? Infinity;
  for await (const { name, storedAt } of listObjects(bucket, {
    folder: MARKERS,
    isName: isMarkerName,
    prefix,
    after,
    limit,
    signal,
  })) {
    if (storedAt === undefined)
      throw withoutTime(`list ${describeObject(bucket.config, MARKERS + name)}`);
    yield { name, storedAt };
    left -= 1;
    if (left === 0) return;
  }
}

/** Not transient: other servers of its kind would do the same. */
function withoutTime(action: string): StorageError {
  const text =
    "the server does not report when it was stored, or not as a date; use another server";
  return new StorageError("unavailable", `cannot ${action}: ${text}`);
}

interface Listing {
  /** What follows the key prefix in the keys: nothing, or the folder of markers with its slash. */
  readonly folder: "" | typeof MARKERS;
  readonly isName: (text: string) => boolean;
  readonly prefix: string;
  /** Lists only names greater than this one; empty for all. */
  readonly after: string;
  /** How many of the entries the caller will take, so that the first page has no more. */
  readonly limit?: number | undefined;
  readonly signal: AbortSignal | undefined;
}

interface ListedObject {
  readonly name: string;
  readonly size: number;
  readonly storedAt: number | undefined;
}

/**
 * The objects in a folder whose names have the form, in the order of their names, page by page. Without
 * a limit, a page is fetched while the second half of the one before it is consumed, because work on
 * blobs would otherwise stand still for a round trip every thousand blobs.
 */
async function* listObjects(
  bucket: BucketContext,
  { folder, isName, prefix, after, limit, signal: given }: Listing,
): AsyncGenerator<ListedObject> {
  const { config, features } = bucket;
  const keyPrefix = config.keyPrefix + folder;
  const action = `list ${config.bucket}/${keyPrefix}`;
  const operation = "ListObjectsV2";
  const { signal, stop } = linkedAbort(given);
  const fetchPage = (token: string | undefined, keys: number): Promise<XmlElement> =>
    queryBucket(bucket, {
      query: {
        "list-type": "2",
        prefix: keyPrefix + prefix,
        // Objects in subfolders of a store appear as one entry per subfolder.
        ...(folder === "" ? { delimiter: "/" } : {}),
        "max-keys": String(keys),
        // Other writers' keys may contain characters that XML cannot represent.
        "encoding-type": "url",
        ...(token === undefined ? {} : { "continuation-token": token }),
        ...(after === "" ? {} : { "start-after": keyPrefix + after }),
      },
      operation,
      action,
      signal,
    });
  let token: string | undefined;
  let last = after;
  let pagesWithoutName = 0;
  let fetching: Promise<XmlElement> | undefined = fetchPage(
    undefined,
    Math.min(limit ?? PAGE, PAGE),
  );
  try {
    do {
      pagesWithoutName += 1;
      // If something else is in the way of a few entries, small pages would take many requests.
      const page: XmlElement = await (fetching ?? fetchPage(token, PAGE));
      fetching = undefined;
      const more = isTruncated(page, action, operation);
      const next = more ? textOf(page, "NextContinuationToken") : undefined;
      // Otherwise the listing would end early without an error, or never end.
      const usable = next && next.length <= MAX_TOKEN && next !== token;
      if (more && !usable) throw noContinuation(action, operation);
      token = next;
      const before = last;
      features.bucketExists = true;
      const entries = childrenOf(page, "Contents");
      for (const [index, entry] of entries.entries()) {
        const name = nameIn(textOf(entry, "Key") ?? "", keyPrefix, isName);
        // Some servers ignore `start-after`.
        if (name === undefined || !name.startsWith(prefix) || name <= after) continue;
        // A page again, or one of a listing without an order, which could not be resumed.
        if (name <= last) throw invalidResult(action, operation);
        last = name;
        throwIfAborted(given);
        const size = textOf(entry, "Size") ?? "0";
        if (!/^\d{1,15}$/u.test(size)) throw invalidResult(action, operation);
        const storedAt = Date.parse(textOf(entry, "LastModified") ?? "");
        yield { name, size: Number(size), storedAt: Number.isNaN(storedAt) ? undefined : storedAt };
        // After the yield: a consumer that has taken what it needs makes no further request.
        if (limit === undefined && token !== undefined && 2 * (index + 1) >= entries.length) {
          fetching ??= fetchPage(token, PAGE);
          // Its error is reported when the page is needed.
          fetching.catch(() => {});
        }
      }
      if (last > before) pagesWithoutName = 0;
      if (pagesWithoutName > MAX_PAGES_WITHOUT_NAME) throw endlessListing(action);
    } while (token !== undefined);
  } finally {
    stop();
  }
}

/** Not transient: another attempt would take as long. */
function endlessListing(action: string): StorageError {
  const text = `${MAX_PAGES_WITHOUT_NAME} pages in a row have no blob; use a prefix of its own for the store, or check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`);
}

/**
 * The name in a key. Not every server encodes keys as requested or reports that it did, so
 * a key counts if it is ours either as it is or decoded; the digits of a name are never encoded.
 */
function nameIn(
  key: string,
  keyPrefix: string,
  isName: (text: string) => boolean,
): string | undefined {
  const nameOf = (plain: string): string | undefined => {
    const name = plain.slice(keyPrefix.length);
    if (!plain.startsWith(keyPrefix) || !isName(name)) return undefined;
    // A copy, because a part of a string keeps all of it, and so a name would keep its page.
    return Buffer.from(name, "latin1").toString("latin1");
  };
  return nameOf(key) ?? nameOf(urlDecoded(key));
}

function urlDecoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    // Not UTF-8, so not one of our keys.
    return "";
  }
}
