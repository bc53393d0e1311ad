import type { Answer } from "../http/connection/outgoing.ts";
import { type Xml, xmlDocument } from "../xml/write.ts";

/** An answer without a body. */
export function emptyAnswer(status: 200 | 204, headers: Answer["headers"] = {}): Answer {
  return { status, headers };
}

/** An answer with a document of S3. */
export function xmlAnswer(root: string, content: Xml, headers: Answer["headers"] = {}): Answer {
  return {
    status: 200,
    headers: { "content-type": "application/xml", ...headers },
    body: xmlDocument(root, content),
  };
}

/** A time as in XML: `2026-11-23T04:00:00.000Z`. */
export function isoTime(time: number): string {
  return new Date(time).toISOString();
}

/** A time as in headers, to the second: `Mon, 23 Nov 2026 04:00:00 GMT`. */
export function httpTime(time: number): string {
  return new Date(time).toUTCString();
}
