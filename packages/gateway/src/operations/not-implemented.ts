import { S3Error } from "../errors.ts";

/** @param reason what is not implemented, beside the message that clients know */
export function notImplemented(reason: string): S3Error {
  return new S3Error("NotImplemented", undefined, { details: { AdditionalMessage: reason } });
}
