import { MASK } from "../rules/actions.ts";
import type { Span } from "./spans.ts";

/** How the header of a token begins: `{"`, `{ ` or `{` and a line feed, carriage return or tab. */
export const TOKEN_STARTS = ["eyJ", "eyA", "ewo", "ew0", "ewk"] as const;

const START = new RegExp(TOKEN_STARTS.join("|"), "gu");

/** The shortest header of a token: `{"alg":"…"}` in base64url. */
const HEADER_MIN = 14;

/**
 * JSON Web Tokens: the beginning of a JSON object in base64url, and two dots or more in the same word.
 * Of a word that the cut ended, the beginning is enough.
 */
export function webTokenSpans(text: string, isCut: boolean, spans: Span[]): void {
  for (let start = startFrom(text, 0); start !== -1;) {
    let dots = 0;
    let firstDot = 0;
    let end = start;
    for (; end < text.length; end++) {
      const unit = text.charCodeAt(end);
      if (unit === 0x2e) {
        dots += 1;
        if (dots === 1) firstDot = end;
      } else if (!isBase64Url(unit)) break;
    }
    const isToken = dots >= 2 && firstDot - start >= HEADER_MIN;
    if (isToken || (isCut && end === text.length)) spans.push({ start, end, text: MASK });
    start = startFrom(text, end);
  }
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
