import { throwIfAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import { isBlobName, type ListedBlob } from "../../backend.ts";
import { exchange, readText } from "../http/requests.ts";
import { MAX_RESPONSE_BYTES } from "../http/short-response.ts";
import { childrenOf, invalidResult, parseXml, textOf, type XmlElement } from "../http/xml.ts";
import type { OpenBucket } from "../open-bucket.ts";

/** Keys per page: the protocol's maximum. */
const PAGE = 1000;

/**
 * The blobs in the bucket, in the order of their names, fetched page by page.
 *
 * @param after lists only names greater than this one; empty for all
 */
export async function* listBlobs(
  bucket: OpenBucket,
  prefix: string,
  after: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedBlob> {
  const { config, observed } = bucket;
  const { keyPrefix } = config;
  const action = `list ${config.bucket}/${keyPrefix}`;
  const operation = "ListObjectsV2";
  let token: string | undefined;
  do {
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
    if (more && (!next || next === token)) throw noContinuation(action, operation);
    observed.bucketExists = true;
    for (const entry of childrenOf(page, "Contents")) {
      const name = nameIn(textOf(entry, "Key") ?? "", keyPrefix);
      // Some servers ignore `start-after`.
      if (name === undefined || !name.startsWith(prefix) || name <= after) continue;
      throwIfAborted(signal);
      const size = textOf(entry, "Size") ?? "0";
      if (!/^\d{1,15}$/u.test(size)) throw invalidResult(action, operation);
      const storedAt = Date.parse(textOf(entry, "LastModified") ?? "");
      yield { name, size: Number(size), ...(!Number.isNaN(storedAt) && { storedAt }) };
    }
    token = next;
  } while (token !== undefined);
}

interface BucketQuery {
  readonly query: Readonly<Record<string, string>>;
  /** The protocol's name of the request. */
  readonly operation: string;
  readonly action: string;
  readonly signal: AbortSignal | undefined;
}

/** Sends a GET for the bucket itself and returns the root element of the response. */
export async function queryBucket(
  bucket: OpenBucket,
  { query, operation, action, signal }: BucketQuery,
): Promise<XmlElement> {
  return exchange(
    bucket,
    { method: "GET", key: "", query, headers: {}, action, signal },
    async (response) => {
      const { text, complete } = await readText(response.chunks(), MAX_RESPONSE_BYTES);
      const root = complete ? await parseXml(text) : undefined;
      if (root === undefined) throw invalidResult(action, operation);
      return root;
    },
  );
}

/**
 * Whether more pages follow. Every page of a listing contains this; the XML of another web server
 * does not, and must not pass for an empty listing.
 *
 * @throws StorageError `unavailable`, transient
 */
export function isTruncated(page: XmlElement, action: string, operation: string): boolean {
  const text = textOf(page, "IsTruncated");
  if (text !== "true" && text !== "false") throw invalidResult(action, operation);
  return text === "true";
}

export function noContinuation(action: string, operation: string): StorageError {
  const text = `the ${operation} result is truncated but has no new continuation token; check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`, { transient: true });
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
