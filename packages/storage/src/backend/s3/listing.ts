import { throwIfAborted } from "../../errors.ts";
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
    const page = await connection.call(`list ${bucket}/${folder}`, signal, (client, options) =>
      client.send(command, options),
    );
    learned.bucketSeen = true;
    for (const { Key: key = "", Size: size = 0 } of page.Contents ?? []) {
      const name = nameIn(key, folder);
      // Some servers take no notice of where to start.
      if (name === undefined || !name.startsWith(prefix) || name <= after) continue;
      throwIfAborted(signal);
      yield { name, size };
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined;
  } while (token !== undefined);
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
