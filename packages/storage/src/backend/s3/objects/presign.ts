import { usage } from "../../../errors.ts";
import { isBlobName, type PresignOptions, type PresignedReads } from "../../backend.ts";
import type { BucketContext } from "../bucket-context.ts";
import { exceptionError } from "../http/errors.ts";
import { startDeadline } from "../../http/deadline.ts";

/** S3 accepts no URL that is valid for longer: 7 days. */
const SECONDS_MAX = 7 * 24 * 60 * 60;

/** Prepares URLs for reading blobs; see `Backend.presign`. */
export async function presign(
  { connection, config }: BucketContext,
  { expiresIn, signal }: PresignOptions,
): Promise<PresignedReads> {
  if (!Number.isSafeInteger(expiresIn) || expiresIn < 1 || expiresIn > SECONDS_MAX) {
    throw usage(`a URL is valid for 1 to ${SECONDS_MAX} seconds (7 days), got ${expiresIn}`);
  }
  if (config.encryption?.type === "SSE-C") {
    throw usage(
      "blobs under SSE-C cannot be read by URL: each request needs the key in headers, and nobody " +
        "else may have the key",
    );
  }
  const action = `presign URLs of ${config.bucket}`;
  // Credentials may come from a program, or from a server that does not respond.
  const deadline = startDeadline(
    signal,
    config.timeouts.firstByte,
    action,
    "the source of credentials",
  );
  const { expires, temporary, urlOf } = await connection
    .presign(expiresIn, deadline.signal)
    .catch((error: unknown) => {
      throw deadline.error ?? exceptionError(error, action, signal);
    })
    .finally(deadline.end);
  return {
    expires,
    temporary,
    urlOf(name) {
      if (!isBlobName(name)) throw usage("a blob's name must be 64 lowercase hexadecimal digits");
      return urlOf(config.keyPrefix + name);
    },
  };
}
