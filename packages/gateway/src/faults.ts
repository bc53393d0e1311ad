import { CatalogError } from "./catalog/catalog.ts";
import { S3Error } from "./errors.ts";

/** An error as the client sees it. What went wrong inside is its cause, for the log alone. */
export function s3ErrorOf(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  for (let at = error; isAborted(at); at = at.cause)
    if (at.cause instanceof S3Error) return at.cause;
  const isPassing =
    (error instanceof CatalogError && error.code === "unavailable") ||
    (error instanceof Error && "code" in error && error.code === "unavailable");
  return new S3Error(isPassing ? "ServiceUnavailable" : "InternalError", undefined, {
    cause: error,
  });
}

/** Whether it is what backends make of the reason of a signal, which is then the cause. */
function isAborted(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "aborted";
}

/** One line for the log. */
export function faultOf(error: unknown): string {
  const messages: string[] = [];
  for (let at = error; at instanceof Error && messages.length < 4; at = at.cause) {
    messages.push(`${at.name}: ${at.message}`);
  }
  return messages.length === 0 ? String(error) : messages.join("; ");
}
