import { CatalogError } from "./catalog/catalog.ts";
import { S3Error } from "./errors.ts";
import { StorageError } from "@idk/storage";

/** An error as the client sees it. What went wrong inside is its cause, for the log alone. */
export function s3ErrorOf(error: unknown): S3Error {
  const reason = reasonOf(error);
  if (reason instanceof S3Error) return reason;
  const isPassing =
    (error instanceof CatalogError && error.code === "unavailable") ||
    (error instanceof Error && "code" in error && error.code === "unavailable") ||
    (error instanceof StorageError && error.transient);
  return new S3Error(isPassing ? "ServiceUnavailable" : "InternalError", undefined, {
    cause: error,
  });
}

/** The reason of the signal, if the error is what backends make of it; otherwise the error itself. */
export function reasonOf(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && "code" in at && at.code === "aborted" && at.cause !== undefined) {
    at = at.cause;
  }
  return at;
}

/** One line for the log. */
export function faultOf(error: unknown): string {
  const messages: string[] = [];
  for (let at = error; at instanceof Error && messages.length < 4; at = at.cause) {
    messages.push(`${at.name}: ${at.message}`);
  }
  return messages.length === 0 ? String(error) : messages.join("; ");
}
