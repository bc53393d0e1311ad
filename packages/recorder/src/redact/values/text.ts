import { MASK } from "../rules/actions.ts";
import { NOT_COVERED } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { cardNumberSpans } from "./card-numbers.ts";
import { replaceSpans, type Span } from "./spans.ts";

/** Anything that `redactText` looks for in a text that is not cut, and beginnings of JSON. */
const SUSPICIOUS = /\/\/|=|eyJ|\d[\d -]{11}|^\s*[{[]/u;

/** Whether a text, which is not cut, may have a secret or be JSON. Most have none. */
export function isSuspicious(text: string): boolean {
  return SUSPICIOUS.test(text);
}

/**
 * Replaces the secrets that are recognized anywhere in text: user and password in URLs, parameters of
 * URLs that a rule covers, JSON Web Tokens, and card numbers. Takes linear time.
 *
 * @param isCut the text goes on beyond its end, so that a secret may have only its beginning here
 * @returns the same text if there is nothing to replace
 */
export function redactText(text: string, isCut: boolean, rules: RuleSet): string {
  if (!isCut && !isSuspicious(text)) return text;
  const { userinfo, jwts, cardNumbers } = rules.defaults;
  const spans: Span[] = [];
  if (userinfo) userinfoSpans(text, isCut, spans);
  parameterSpans(text, isCut, rules, spans);
  if (jwts) tokenSpans(text, isCut, spans);
  if (cardNumbers) cardNumberSpans(text, isCut, spans);
  return spans.length === 0 ? text : replaceSpans(text, spans);
}

/** `user:password` between `//` and `@`, also without a scheme. */
function userinfoSpans(text: string, isCut: boolean, spans: Span[]): void {
  for (let slashes = text.indexOf("//"); slashes !== -1;) {
    const start = slashes + 2;
    let end = start;
    let at = -1;
    for (; end < text.length; end++) {
      const unit = text.charCodeAt(end);
      if (unit === AT) at = end;
      else if (endsAuthority(unit)) break;
    }
    if (isCut && end === text.length) at = end;
    if (at > start) spans.push({ start, end: at, text: MASK });
    slashes = text.indexOf("//", Math.max(end - 1, slashes + 1));
  }
}

const AT = 0x40;

/** Controls and space, `"#<>` and `` ` ``, `/`, `?` and `\\`. */
function endsAuthority(unit: number): boolean {
  return (
    (endsParameter(unit) && unit !== 0x26 && unit !== 0x27) ||
    unit === 0x2f ||
    unit === 0x3f ||
    unit === 0x5c
  );
}

/** The longest name of a parameter that is looked up. */
const NAME_MAX = 128;

/** `name=value` anywhere in text, not only in URLs. */
function parameterSpans(text: string, isCut: boolean, rules: RuleSet, spans: Span[]): void {
  for (let from = 0, equals: number; (equals = text.indexOf("=", from)) !== -1;) {
    from = equals + 1;
    const nameStart = startOfName(text, equals);
    if (nameStart === equals) continue;
    const rank = rules.parameter(decoded(text.slice(nameStart, equals)) ?? "");
    if (rank === NOT_COVERED) continue;
    const quote = text[from];
    const isQuoted = quote === '"' || quote === "'";
    const start = isQuoted ? from + 1 : from;
    const end = isQuoted ? endOfQuoted(text, start, quote) : endOfParameter(text, start);
    if (end > start) {
      const raw = text.slice(start, end);
      const isWhole = !isCut || end < text.length;
      spans.push({ start, end, text: redactedParameter(raw, rank, isWhole, rules) });
    }
    from = end;
  }
}

/** Dropping a value would need its name and separator, too: in the middle of text it is masked. */
function redactedParameter(raw: string, rank: number, isWhole: boolean, rules: RuleSet): string {
  const value = decoded(raw);
  if (value === undefined || !isWhole) return MASK;
  const by = rules.apply(rank, value, () => MASK);
  return by === undefined || by === MASK ? MASK : encodeURIComponent(by);
}

function startOfName(text: string, end: number): number {
  const first = Math.max(0, end - NAME_MAX);
  let start = end;
  while (start > first && isNameUnit(text.charCodeAt(start - 1))) start -= 1;
  return start;
}

/** Letters, digits, anything beyond ASCII, and `%-._~[]$+!*:@`. */
const NAME_UNITS = new Set(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%-._~[]$+!*:@",
);
const IS_NAME_UNIT = Array.from({ length: 128 }, (_, unit) =>
  NAME_UNITS.has(String.fromCharCode(unit)),
);

function isNameUnit(unit: number): boolean {
  return IS_NAME_UNIT[unit] ?? true;
}

function endOfQuoted(text: string, start: number, quote: string): number {
  const end = text.indexOf(quote, start);
  return end === -1 ? text.length : end;
}

function endOfParameter(text: string, start: number): number {
  let end = start;
  while (end < text.length && !endsParameter(text.charCodeAt(end))) end += 1;
  return end;
}

/** Controls and space, `"#&'<>` and `` ` ``. */
function endsParameter(unit: number): boolean {
  return (
    unit <= 0x20 ||
    unit === 0x22 ||
    unit === 0x23 ||
    unit === 0x26 ||
    unit === 0x27 ||
    unit === 0x3c ||
    unit === 0x3e ||
    unit === 0x60
  );
}

/** Undoes percent-encoding; undefined if it is malformed. */
export function decoded(text: string): string | undefined {
  if (!/[%+]/u.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** The shortest header of a token: `{"alg":"…"}` in base64url. */
const TOKEN_HEADER_MIN = 14;

/**
 * JSON Web Tokens: `eyJ`, which is `{"` in base64url, and two dots or more in the same word. Of a
 * word that the cut ended, `eyJ` is enough.
 */
function tokenSpans(text: string, isCut: boolean, spans: Span[]): void {
  for (let start = text.indexOf("eyJ"); start !== -1;) {
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
    const isToken = dots >= 2 && firstDot - start >= TOKEN_HEADER_MIN;
    if (isToken || (isCut && end === text.length)) spans.push({ start, end, text: MASK });
    start = text.indexOf("eyJ", end);
  }
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
