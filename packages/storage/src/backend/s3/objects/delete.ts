import { StorageError } from "../../../errors.ts";
import { discardBody } from "../../http/response.ts";
import { sendRequest } from "../http/requests.ts";
import { childrenOf, textOf } from "../http/xml.ts";
import { describeObject, type BucketContext } from "../bucket-context.ts";
import { isTruncated, MAX_TOKEN, noContinuation, queryBucket } from "./bucket.ts";

/**
 * Deletes a blob, or a marker, permanently. In a bucket with versions a plain DELETE only adds a delete marker,
 * so every version is deleted by its ID; this fails if the credentials do not allow it.
 *
 * @param name what follows the key prefix
 * @param versioned whether the bucket is known to keep versions, so that no plain DELETE is tried
 * @returns whether the bucket keeps versions
 */
export async function deleteBlob(
  bucket: BucketContext,
  name: string,
  signal: AbortSignal | undefined,
  versioned: boolean = bucket.config.versioned,
): Promise<boolean> {
  if (!versioned && !(await addsDeleteMarker(bucket, name, signal))) return false;
  // The latest version is deleted last, so that no older one ever becomes visible.
  for (const version of await versionIds(bucket, name, signal)) {
    await deleteVersion(bucket, name, version, signal);
  }
  return true;
}

/** Sends a plain DELETE. Returns whether it only added a delete marker. */
async function addsDeleteMarker(
  bucket: BucketContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const headers = await sendDelete(bucket, name, undefined, signal);
  return headers?.get("x-amz-delete-marker") === "true";
}

/** Deletes a version. Resolves even if another client has deleted it. */
export async function deleteVersion(
  bucket: BucketContext,
  name: string,
  version: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await sendDelete(bucket, name, version, signal);
}

/** The headers of the response, or undefined if there was nothing to delete. */
async function sendDelete(
  bucket: BucketContext,
  name: string,
  version: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Headers | undefined> {
  const { config, features } = bucket;
  const headers = await sendRequest<Headers | "missing">(
    bucket,
    {
      method: "DELETE",
      key: config.keyPrefix + name,
      ...(version === undefined ? {} : { query: { versionId: version } }),
      headers: {},
      action: `delete ${version === undefined ? "" : "a version of "}${describeObject(config, name)}`,
      signal,
    },
    discardBody,
    ({ code }) => (code === "NoSuchKey" || code === "NoSuchVersion" ? "missing" : undefined),
  );
  features.bucketExists = true;
  return headers === "missing" ? undefined : headers;
}

/**
 * The most characters of one blob's version IDs that are kept in memory: of 100,000 versions, as the
 * longest IDs of real stores have about 80. Shorter ones count as that long, because each is a string.
 */
const MAX_IDS_LENGTH = 8 * 2 ** 20;
const ID_LENGTH = 80;

/** The most pages of one blob's versions: ten times those of the most versions. */
const MAX_VERSION_PAGES = 1000;

function tooManyVersions(action: string): StorageError {
  const text = "it has too many versions to list; delete versions with the provider's tools";
  return new StorageError("unavailable", `cannot ${action}: ${text}`);
}

/** The IDs of all versions and delete markers of a blob, the latest one last. */
async function versionIds(
  bucket: BucketContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const key = bucket.config.keyPrefix + name;
  const action = `find the versions of ${describeObject(bucket.config, name)}`;
  const operation = "ListObjectVersions";
  const [older, latest]: [string[], string[]] = [[], []];
  let [keyMarker, versionMarker]: [string?, string?] = [];
  let length = 0;
  for (let pages = 1; ; pages++) {
    const query = {
      versions: "",
      prefix: key,
      ...(keyMarker && { "key-marker": keyMarker }),
      ...(versionMarker && { "version-id-marker": versionMarker }),
    };
    const page = await queryBucket(bucket, { query, operation, action, signal });
    for (const entry of [...childrenOf(page, "Version"), ...childrenOf(page, "DeleteMarker")]) {
      const version = textOf(entry, "VersionId");
      if (textOf(entry, "Key") !== key || !version) continue;
      length += Math.max(ID_LENGTH, version.length);
      if (length > MAX_IDS_LENGTH) throw tooManyVersions(action);
      (textOf(entry, "IsLatest") === "true" ? latest : older).push(version);
    }
    if (!isTruncated(page, action, operation)) break;
    const nextKey = textOf(page, "NextKeyMarker");
    const nextVersion = textOf(page, "NextVersionIdMarker");
    if (!nextKey) throw noContinuation(action, operation);
    // The prefix also matches longer keys, which follow this one.
    if (nextKey !== key) break;
    const stuck = nextKey === keyMarker && nextVersion === versionMarker;
    if (stuck || (nextVersion?.length ?? 0) > MAX_TOKEN) throw noContinuation(action, operation);
    if (pages === MAX_VERSION_PAGES) throw tooManyVersions(action);
    [keyMarker, versionMarker] = [nextKey, nextVersion];
  }
  return [...older, ...latest];
}
