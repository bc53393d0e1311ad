import type { Work } from "../contract.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { MASK } from "../rules/actions.ts";
import { cardNumberSpans, mayHaveCardNumber } from "./card-numbers.ts";
import { endsParameter, namedValueSpans } from "./named-values.ts";
import { encodedSpans, isEncoded } from "./percent.ts";
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

/** More secrets in one text are masked together with what is between them. */
const SPANS_MAX = 1024;

/**
 * Replaces the secrets that are recognized anywhere in text, also if they are percent-encoded: user
 * and password in URLs, values whose names a rule covers, JSON Web Tokens, and card numbers. Takes
 * linear time.
 *
 * @param isCut the text goes on beyond its end, so that a secret may have only its beginning here
 * @param decodings how many times the text was percent-decoded before
 * @returns the same text if there is nothing to replace
 */
export function* redactText(
  text: string,
  isCut: boolean,
  rules: RuleSet,
  decodings = 0,
): Work<string> {
  if (!isCut && !isSuspicious(text)) return text;
  const { userinfo, jwts, cardNumbers } = rules.defaults;
  const spans: Span[] = [];
  const isDecoded = decodings > 0;
  if (userinfo) userinfoSpans(text, isCut, isDecoded, spans);
  yield* namedValueSpans(text, isCut, isDecoded, rules, spans);
  if (jwts) webTokenSpans(text, isCut, spans);
  if (cardNumbers && mayHaveCardNumber(text, isCut)) yield* cardNumberSpans(text, isCut, spans);
  if (spans.length > SPANS_MAX) return MASK;
  const redacted = replaceSpans(text, spans);
  if (!isEncoded(redacted)) return redacted;
  // Afterwards, because decoding may hide where a secret ends.
  const redactPart = (part: string, isPartCut: boolean): Work<string> =>
    redactText(part, isPartCut, rules, decodings + 1);
  const encoded = yield* encodedSpans(redacted, isCut, decodings, redactPart);
  return encoded.length > SPANS_MAX ? MASK : replaceSpans(redacted, encoded);
}

const SHORT_MAX = 1024;

/**
 * The same for what is short, such as a name, in one step. A text of more than 1024 characters that
 * may have a secret is masked.
 */
export function redactShortText(text: string, rules: RuleSet): string {
  if (!isSuspicious(text)) return text;
  if (text.length > SHORT_MAX) return MASK;
  for (const work = redactText(text, false, rules); ;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
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
