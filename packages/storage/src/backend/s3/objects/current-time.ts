import { StorageError } from "../../../errors.ts";
import type { BucketContext } from "../bucket-context.ts";
import { discardBody } from "../../http/response.ts";
import { sendRequest } from "../http/requests.ts";

/** A name that no blob has, so that the answer is short. */
const NO_BLOB = "0".repeat(64);

/**
 * The server's time, from the `Date` of the last response, or of one requested for it. A refusal has
 * a date too, so that this needs no permission.
 *
 * @throws StorageError `unavailable` if the responses have no date
 */
export async function currentTime(
  bucket: BucketContext,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { connection, config } = bucket;
  const known = connection.clock.time();
  if (known !== undefined) return Math.trunc(known);
  const action = `get the time of the server of ${config.bucket}`;
  await sendRequest<unknown>(
    bucket,
    { method: "HEAD", key: config.keyPrefix + NO_BLOB, headers: {}, action, signal },
    discardBody,
    ({ status }) => status === 403 || status === 404 || undefined,
  );
  const time = connection.clock.time();
  if (time !== undefined) return Math.trunc(time);
  const text = "its responses have no Date header; check the proxies between";
  throw new StorageError("unavailable", `cannot ${action}: ${text}`);
}
