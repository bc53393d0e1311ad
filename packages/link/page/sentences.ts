import { LinkError, type LinkErrorCode } from "../src/errors.ts";

/** What happened, and what the reader can do. */
const FAILURES: Readonly<Record<LinkErrorCode, string>> = {
  malformed:
    "This link is not complete. Copy the whole link again, up to its last character, and open it.",
  version: "This page is too old for this link. Ask the sender for a link to a newer page.",
  key: "The key in this link does not open the file. The link was probably changed when it was copied. Copy the whole link again, or ask the sender for a new one.",
  expired: "This link has expired. Ask the sender for a new one.",
  removed: "The sender has withdrawn this link. Ask the sender for a new one.",
  missing:
    "A part of this file is no longer on the server. Ask the sender to check the file and to send a new link.",
  refused: "The server does not allow this link any more. Ask the sender for a new one.",
  unreachable:
    "The server does not respond, or not as expected. Check your internet connection and try again. If that does not help, the sender’s storage may not allow downloads from this page: tell the sender (the setting is called CORS).",
  damaged:
    "A part of this file is damaged on the server, or somebody replaced it. Ask the sender to check the file and to send a new link.",
  limit: "This file is too large for this page.",
  aborted: "Cancelled.",
};

/** A failure that is not one of the link. Its message is a sentence for readers. */
export class PageError extends Error {
  override readonly name = "PageError";
}

/** The sentence for a failure. */
export function sentenceOf(error: unknown): string {
  if (error instanceof LinkError) return FAILURES[error.code];
  if (error instanceof PageError) return error.message;
  return "This page failed. Reload it, or open the link in another browser.";
}

/** Whether the same may succeed if it is tried again. */
export function mayTryAgain(error: unknown): boolean {
  if (!(error instanceof LinkError)) return true;
  return ["unreachable", "refused", "damaged"].includes(error.code);
}

const UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB"];

/** Such as `1.2 MB`, three digits, in decimal units. */
export function formatSize(bytes: number): string {
  if (bytes === 1) return "1 byte";
  let power = 0;
  // What would be rounded to 1000 takes the next unit.
  while (Number((bytes / 1000 ** power).toPrecision(3)) >= 1000) power += 1;
  const value = Number((bytes / 1000 ** power).toPrecision(3));
  return `${power === 0 ? bytes : value} ${UNITS[power]}`;
}

/** Date and time in the reader's time zone. */
export function formatTime(time: Date): string {
  return new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" }).format(time);
}
