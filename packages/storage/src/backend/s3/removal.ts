import type { ListObjectVersionsCommandOutput } from "@aws-sdk/client-s3";
import { isTruncated, noListing } from "./listing.ts";
import type { Place } from "./place.ts";
import { drain, EMPTY_SHA256, exchange } from "./requests.ts";
import { blobAt, type Session, type Signal } from "./session.ts";

/**
 * Removes a blob for good. In a bucket that keeps versions a delete only hides, so that every
 * version is removed by its id; who may not do that gets the error.
 *
 * @param versioned whether the bucket is known to keep versions, so that a delete that only hides is
 *   not tried first
 * @returns whether the bucket keeps versions
 */
export async function removeBlob(
  session: Session,
  name: string,
  signal: Signal,
  versioned: boolean = session.place.versioned,
): Promise<boolean> {
  if (!versioned && !(await hides(session, name, signal))) return false;
  // That which shows goes last, so that no older one ever does.
  for (const version of await versionsOf(session, name, signal)) {
    await removeVersion(session, name, version, signal);
  }
  return true;
}

/** Deletes without a version. Tells whether that has only put a mark in front of versions. */
async function hides(session: Session, name: string, signal: Signal): Promise<boolean> {
  const headers = await requestRemoval(session, name, undefined, signal);
  return headers?.get("x-amz-delete-marker") === "true";
}

/** Removes a version, unless another has done so meanwhile. */
export async function removeVersion(
  session: Session,
  name: string,
  version: string,
  signal: Signal,
): Promise<void> {
  await requestRemoval(session, name, version, signal);
}

/** The headers of the answer, or undefined where there was nothing to remove. */
async function requestRemoval(
  { connection, place, learned }: Session,
  name: string,
  version: string | undefined,
  signal: Signal,
): Promise<Headers | undefined> {
  const headers = await exchange<Headers | "missing">(
    connection,
    place,
    {
      method: "DELETE",
      key: place.folder + name,
      ...(version === undefined ? {} : { query: { versionId: version } }),
      headers: { "x-amz-content-sha256": EMPTY_SHA256 },
      doing: `delete ${version === undefined ? "" : "a version of "}${blobAt(place, name)}`,
      signal,
    },
    drain,
    ({ code }) => (code === "NoSuchKey" || code === "NoSuchVersion" ? "missing" : undefined),
  );
  learned.bucketSeen = true;
  return headers === "missing" ? undefined : headers;
}

/** The ids of all versions of a blob and of the marks that hide them, that which shows as the last. */
async function versionsOf(session: Session, name: string, signal: Signal): Promise<string[]> {
  const key = session.place.folder + name;
  const [older, latest]: [string[], string[]] = [[], []];
  let from: Marker = {};
  for (;;) {
    const page = await versionsPage(session, name, from, signal);
    // Versions and marks come apart.
    for (const { Key, VersionId, IsLatest } of [
      ...(page.Versions ?? []),
      ...(page.DeleteMarkers ?? []),
    ]) {
      if (Key === key && VersionId !== undefined) (IsLatest ? latest : older).push(VersionId);
    }
    const { NextKeyMarker: nextKey, NextVersionIdMarker: nextVersion } = page;
    const doing = findingVersions(session.place, name);
    if (!isTruncated(page, doing)) break;
    if (!nextKey) throw noListing(doing, "says not where it goes on");
    // Other keys may begin with this one.
    if (nextKey !== key) break;
    const stuck = nextKey === from.key && nextVersion === from.version;
    if (stuck) throw noListing(doing, "says not where it goes on");
    from = { key: nextKey, version: nextVersion };
  }
  return [...older, ...latest];
}

interface Marker {
  readonly key?: string;
  readonly version?: string | undefined;
}

async function versionsPage(
  { connection, place }: Session,
  name: string,
  from: Marker,
  signal: Signal,
): Promise<ListObjectVersionsCommandOutput> {
  const command = new connection.sdk.ListObjectVersionsCommand({
    Bucket: place.bucket,
    Prefix: place.folder + name,
    KeyMarker: from.key,
    VersionIdMarker: from.version,
  });
  return connection.call(findingVersions(place, name), signal, (client, options) =>
    client.send(command, options),
  );
}

function findingVersions(place: Place, name: string): string {
  return `find the versions of ${blobAt(place, name)}`;
}
