import { throwIfAborted } from "../../abort.ts";
import { StorageError } from "../../errors.ts";
import { isBlobName, type ListedBlob } from "../backend.ts";
import type { Session } from "./session.ts";

/** Keys in a page: the most that the protocol gives. */
const PAGE = 1000;

/**
 * The blobs in the place, a page at a time, in the order of their names.
 *
 * @param after only names behind this one; empty for all
 */
export async function* listBlobs(
  { connection, place, learned }: Session,
  prefix: string,
  after: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedBlob> {
  const { bucket, folder } = place;
  let token: string | undefined;
  do {
    const command = new connection.sdk.ListObjectsV2Command({
      Bucket: bucket,
      Prefix: folder + prefix,
      // What lies in folders below comes as one entry for each folder.
      Delimiter: "/",
      MaxKeys: PAGE,
      // Others may have put keys beside ours that XML has no characters for.
      EncodingType: "url",
      ContinuationToken: token,
      ...(after === "" ? {} : { StartAfter: folder + after }),
    });
    const doing = `list ${bucket}/${folder}`;
    const page = await connection.call(doing, signal, (client, options) =>
      client.send(command, options),
    );
    const more = isTruncated(page, doing);
    const next = more ? page.NextContinuationToken : undefined;
    // Whatever else lies in the bucket would be missing without a word, or come for ever.
    if (more && (!next || next === token)) throw noListing(doing, "says not where it goes on");
    learned.bucketSeen = true;
    for (const { Key: key = "", Size: size = 0, LastModified: stored } of page.Contents ?? []) {
      const name = nameIn(key, folder);
      // Some servers take no notice of where to start.
      if (name === undefined || !name.startsWith(prefix) || name <= after) continue;
      throwIfAborted(signal);
      yield { name, size, ...(stored && { storedAt: stored.getTime() }) };
    }
    token = next;
  } while (token !== undefined);
}

/**
 * Whether more pages follow. Every page says so; the SDK makes an empty listing of an answer that is
 * none, such as a web page.
 *
 * @throws StorageError `unavailable`, transient
 */
export function isTruncated(
  page: { readonly IsTruncated?: boolean | undefined },
  doing: string,
): boolean {
  const { IsTruncated: more } = page;
  if (more === undefined) throw noListing(doing, "is none of an S3 store");
  return more;
}

export function noListing(doing: string, says: string): StorageError {
  const text = `cannot ${doing}: the listing ${says}; check the endpoint, or try again`;
  return new StorageError("unavailable", text, { transient: true });
}

/**
 * The blob's name in a key. Servers differ in whether they do as told, and in whether they say so:
 * a key counts if it is ours in either reading, and a name has nothing that reads in two ways.
 */
function nameIn(key: string, folder: string): string | undefined {
  for (const plain of [key, decoded(key)]) {
    const name = plain.slice(folder.length);
    if (plain.startsWith(folder) && isBlobName(name)) return name;
  }
  return undefined;
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    // No UTF-8, so none of ours.
    return "";
  }
}
