import { MASK } from "../rules/actions.ts";
import type { Span } from "./spans.ts";

/** How the header of a token begins: `{"`, `{ ` or `{` and a line feed, carriage return or tab. */
export const TOKEN_STARTS = ["eyJ", "eyA", "ewo", "ew0", "ewk"] as const;

const START = new RegExp(TOKEN_STARTS.join("|"), "gu");

/** The shortest header of a token: `{"alg":"…"}` in base64url. */
const HEADER_MIN = 14;

/** The shortest token: a header and two dots, after which nothing has to come. */
export const TOKEN_MIN: number = HEADER_MIN + 2;

/** What may pad a part: some issuers do so, against RFC 7515. */
const PADDING = /={0,2}(?![\w=-])/uy;

/**
 * JSON Web Tokens: the beginning of a JSON object in base64url, and two dots or more in the same word.
 * Of a word that the cut ended, the beginning is enough.
 */
export function webTokenSpans(text: string, isCut: boolean, spans: Span[]): void {
  for (let start = startFrom(text, 0); start !== -1;) {
    const headerEnd = endOfPart(text, start);
    let end = headerEnd;
    let dots = 0;
    while (text[end] === "." && headerEnd - start >= HEADER_MIN) {
      dots += 1;
      end = endOfPart(text, end + 1);
    }
    if (dots >= 2 || (isCut && end === text.length)) {
      spans.push({ start, end, text: MASK });
      start = startFrom(text, end);
    } else {
      // A word before a token may contain such a beginning, too.
      start = startFrom(text, headerEnd);
    }
  }
}

/** The end of a part of a token, with its padding. */
function endOfPart(text: string, start: number): number {
  let end = start;
  while (end < text.length && isBase64Url(text.charCodeAt(end))) end += 1;
  PADDING.lastIndex = end;
  return PADDING.test(text) ? PADDING.lastIndex : end;
}

function startFrom(text: string, from: number): number {
  START.lastIndex = from;
  return START.exec(text)?.index ?? -1;
}

function isBase64Url(unit: number): boolean {
  return (
    (unit >= 0x61 && unit <= 0x7a) ||
    (unit >= 0x41 && unit <= 0x5a) ||
    (unit >= 0x30 && unit <= 0x39) ||
    unit === 0x2d ||
    unit === 0x5f
  );
}
