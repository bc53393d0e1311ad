import { throwIfAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import { isBlobName, type ListedBlob } from "../../backend.ts";
import { childrenOf, invalidResult, textOf } from "../http/xml.ts";
import type { BucketContext } from "../bucket-context.ts";
import { isTruncated, MAX_TOKEN, noContinuation, queryBucket } from "./bucket.ts";

/** Keys per page: the protocol's maximum. */
const PAGE = 1000;

/**
 * How many pages in a row may have no new blob, only other writers' keys: ten million of those. A
 * server that returns pages for ever is then noticed, although each page arrives in time.
 */
const MAX_PAGES_WITHOUT_BLOB = 10_000;

/**
 * The blobs in the bucket, in the order of their names, fetched page by page.
 *
 * @param after lists only names greater than this one; empty for all
 */
export async function* listBlobs(
  bucket: BucketContext,
  prefix: string,
  after: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedBlob> {
  const { config, features } = bucket;
  const { keyPrefix } = config;
  const action = `list ${config.bucket}/${keyPrefix}`;
  const operation = "ListObjectsV2";
  let token: string | undefined;
  let last = after;
  let pagesWithoutBlob = 0;
  do {
    pagesWithoutBlob += 1;
    const page = await queryBucket(bucket, {
      query: {
        "list-type": "2",
        prefix: keyPrefix + prefix,
        // Objects in subfolders appear as one entry per subfolder.
        delimiter: "/",
        "max-keys": String(PAGE),
        // Other writers' keys may contain characters that XML cannot represent.
        "encoding-type": "url",
        ...(token === undefined ? {} : { "continuation-token": token }),
        ...(after === "" ? {} : { "start-after": keyPrefix + after }),
      },
      operation,
      action,
      signal,
    });
    const more = isTruncated(page, action, operation);
    const next = more ? textOf(page, "NextContinuationToken") : undefined;
    // Otherwise the listing would end early without an error, or never end.
    const usable = next && next.length <= MAX_TOKEN && next !== token;
    if (more && !usable) throw noContinuation(action, operation);
    const before = last;
    features.bucketExists = true;
    for (const entry of childrenOf(page, "Contents")) {
      const name = nameIn(textOf(entry, "Key") ?? "", keyPrefix);
      // Some servers ignore `start-after`.
      if (name === undefined || !name.startsWith(prefix) || name <= after) continue;
      // A page again, or one of a listing without an order, which could not be resumed.
      if (name <= last) throw invalidResult(action, operation);
      last = name;
      throwIfAborted(signal);
      const size = textOf(entry, "Size") ?? "0";
      if (!/^\d{1,15}$/u.test(size)) throw invalidResult(action, operation);
      const storedAt = Date.parse(textOf(entry, "LastModified") ?? "");
      yield { name, size: Number(size), ...(!Number.isNaN(storedAt) && { storedAt }) };
    }
    if (last > before) pagesWithoutBlob = 0;
    if (pagesWithoutBlob > MAX_PAGES_WITHOUT_BLOB) throw endlessListing(action);
    token = next;
  } while (token !== undefined);
}

/** Not transient: another attempt would take as long. */
function endlessListing(action: string): StorageError {
  const text = `${MAX_PAGES_WITHOUT_BLOB} pages in a row have no blob; use a prefix of its own for the store, or check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`);
}

/**
 * The blob's name in a key. Not every server encodes keys as requested or reports that it did, so
 * a key counts if it is ours either as it is or decoded; the digits of a name are never encoded.
 */
function nameIn(key: string, keyPrefix: string): string | undefined {
  for (const plain of [key, urlDecoded(key)]) {
    const name = plain.slice(keyPrefix.length);
    if (plain.startsWith(keyPrefix) && isBlobName(name)) return name;
  }
  return undefined;
}

function urlDecoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    // Not UTF-8, so not one of our keys.
    return "";
  }
}
