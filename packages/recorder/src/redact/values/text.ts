import type { RuleSet } from "../rules/rule-set.ts";
import { MASK } from "../rules/actions.ts";
import { cardNumberSpans } from "./card-numbers.ts";
import { endsParameter, namedValueSpans } from "./named-values.ts";
import { encodedSpans } from "./percent.ts";
import { replaceSpans, type Span } from "./spans.ts";
import { TOKEN_STARTS, webTokenSpans } from "./web-tokens.ts";

/** Anything that `redactText` looks for in a text that is not cut, and beginnings of JSON. */
const SUSPICIOUS = new RegExp(
  [
    "//|=",
    ...TOKEN_STARTS,
    String.raw`\d[\d +-]{11}`,
    String.raw`%[\da-fA-F]{2}`,
    String.raw`["'][ \t]{0,4}:`,
    String.raw`^\s*["{[]`,
  ].join("|"),
  "u",
);

/** Whether a text, which is not cut, may have a secret or be JSON. Most have none. */
export function isSuspicious(text: string): boolean {
  return SUSPICIOUS.test(text);
}

/**
 * Replaces the secrets that are recognized anywhere in text, also if they are percent-encoded: user
 * and password in URLs, values whose names a rule covers, JSON Web Tokens, and card numbers. Takes
 * linear time.
 *
 * @param isCut the text goes on beyond its end, so that a secret may have only its beginning here
 * @param decodings how many times the text was percent-decoded before
 * @returns the same text if there is nothing to replace
 */
export function redactText(text: string, isCut: boolean, rules: RuleSet, decodings = 0): string {
  if (!isCut && !isSuspicious(text)) return text;
  const { userinfo, jwts, cardNumbers } = rules.defaults;
  const spans: Span[] = [];
  const isDecoded = decodings > 0;
  if (userinfo) userinfoSpans(text, isCut, isDecoded, spans);
  namedValueSpans(text, isCut, isDecoded, rules, spans);
  if (jwts) webTokenSpans(text, isCut, spans);
  if (cardNumbers) cardNumberSpans(text, isCut, spans);
  const redacted = replaceSpans(text, spans);
  // Afterwards, because decoding may hide where a secret ends.
  const redactPart = (part: string, isPartCut: boolean): string =>
    redactText(part, isPartCut, rules, decodings + 1);
  return replaceSpans(redacted, encodedSpans(redacted, isCut, decodings, redactPart));
}

/** `user:password` between `//` and `@`, also without a scheme. */
function userinfoSpans(text: string, isCut: boolean, isDecoded: boolean, spans: Span[]): void {
  for (let slashes = text.indexOf("//"); slashes !== -1;) {
    const start = slashes + 2;
    let end = start;
    let at = -1;
    for (; end < text.length; end++) {
      const unit = text.charCodeAt(end);
      if (unit === AT) at = end;
      else if (endsAuthority(unit, isDecoded)) break;
    }
    if (isCut && end === text.length) at = end;
    if (at > start) spans.push({ start, end: at, text: MASK });
    slashes = text.indexOf("//", Math.max(end - 1, slashes + 1));
  }
}

const AT = 0x40;

/** What ends a parameter, but for `&`, and also `/`, `?` and `\\`. */
function endsAuthority(unit: number, isDecoded: boolean): boolean {
  const isEnd = endsParameter(unit, isDecoded) && unit !== 0x26;
  return isEnd || unit === 0x2f || unit === 0x3f || unit === 0x5c;
}
