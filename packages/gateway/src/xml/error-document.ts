import type { S3Error } from "../errors.ts";

/** What an error document names besides the error. */
export interface ErrorContext {
  /** The path of the request, as sent. */
  readonly resource: string;
  readonly requestId: string;
  readonly hostId: string;
}

/** The body of an answer that failed. Never contains the error's cause. */
export function errorDocument(_error: S3Error, _context: ErrorContext): string {
  throw new Error("not written yet");
}
