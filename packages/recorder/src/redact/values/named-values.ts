import type { Work } from "../contract.ts";
import { MASK } from "../rules/actions.ts";
import { NOT_COVERED } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { decoded, encoded } from "./percent.ts";
import type { Span } from "./spans.ts";

/** The longest name of a parameter that is looked up. */
const NAME_MAX = 128;

/** Names of a step: about 0.1 ms. */
const STEP = 64;

/** Quotes and blanks between a name and its value that are skipped. */
const SKIPPED_MAX = 12;

/** Ends a name; a colon does so only after a quote, because text is full of them. */
const MARKS = /=|["'][ \t]{0,4}:/gu;

/**
 * `name=value` and `"name": value` anywhere in text. A parameter of a URL ends where it ends in the
 * URL. Where any other value ends is not known, so that the line is masked to its end.
 */
export function* namedValueSpans(
  text: string,
  isCut: boolean,
  isDecoded: boolean,
  rules: RuleSet,
  spans: Span[],
): Work<void> {
  for (let from = 0, count = 0; ; count++) {
    if (count % STEP === STEP - 1) yield;
    MARKS.lastIndex = from;
    const mark = MARKS.exec(text);
    if (mark === null) return;
    from = mark.index + mark[0].length;
    const nameEnd = endOfName(text, mark.index);
    const nameStart = startOfName(text, nameEnd);
    if (nameStart === nameEnd) continue;
    const name = text.slice(nameStart, nameEnd);
    const rank = rules.parameter(decoded(name) ?? name);
    if (rank === NOT_COVERED) continue;
    const isParameter =
      nameEnd === mark.index && isAfterDelimiter(text, nameStart) && !isQuote(text[from]);
    const start = isParameter ? from : skipSpace(text, from);
    const end = isParameter ? endOfParameter(text, start, isDecoded) : endOfLine(text, start);
    if (end > start) {
      const isWhole = !isCut || end < text.length;
      spans.push({ start, end, text: redactedValue(text.slice(start, end), rank, isWhole, rules) });
    }
    from = Math.max(from, end);
  }
}

/** Several words, or more than one value. */
const NOT_ONE_VALUE = /[\s"'`,;&<>]/u;

/** Dropping a value would need its name and separator, too: in the middle of text it is masked. */
function redactedValue(raw: string, rank: number, isWhole: boolean, rules: RuleSet): string {
  const value = decoded(raw);
  if (value === undefined || !isWhole || NOT_ONE_VALUE.test(raw)) return MASK;
  const by = applied(value, rank, rules);
  return by === MASK ? MASK : encoded(by);
}

/** What takes the place of a value that is not encoded: that of the rule if it is one word. */
export function redactedWord(value: string, rank: number, rules: RuleSet): string {
  return NOT_ONE_VALUE.test(value) ? MASK : applied(value, rank, rules);
}

function applied(value: string, rank: number, rules: RuleSet): string {
  return rules.apply(rank, rules.keepsPart(rank) ? MASK : value) ?? MASK;
}

/**
 * The name that ends before an offset, such as that of a colon; the empty string if there is none. It
 * has one colon at most, as `user:email` does: otherwise each of many colons had a long name.
 */
export function nameBefore(text: string, offset: number): string {
  const end = endOfName(text, offset);
  const first = Math.max(0, end - NAME_MAX);
  let start = end;
  for (let colons = 0; start > first; start--) {
    const unit = text.charCodeAt(start - 1);
    if (unit === COLON) colons += 1;
    if (colons > 1 || !isNameUnit(unit)) break;
  }
  return text.slice(start, end);
}

const COLON = 0x3a;

/** Skips blanks, and the quote of a name, which may be escaped. */
function endOfName(text: string, mark: number): number {
  let end = mark;
  const first = Math.max(0, mark - SKIPPED_MAX);
  while (end > first && /[ \t"'\\]/u.test(text[end - 1]!)) end -= 1;
  return end;
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

/** Whether a name is where URLs have parameters. */
function isAfterDelimiter(text: string, at: number): boolean {
  const before = text[at - 1];
  return (
    before === "?" ||
    before === "&" ||
    before === "#" ||
    // `&amp;` in HTML.
    (before === ";" && text.startsWith("amp", Math.max(0, at - 4)))
  );
}

function isQuote(character: string | undefined): boolean {
  return character === '"' || character === "'";
}

/** Also skips line ends, because a value may be on the line after its name. */
function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\r\n".includes(text[at]!)) at += 1;
  return at;
}

function endOfLine(text: string, start: number): number {
  let end = start;
  while (end < text.length && text[end] !== "\n" && text[end] !== "\r") end += 1;
  return end;
}

function endOfParameter(text: string, start: number, isDecoded: boolean): number {
  let end = start;
  while (end < text.length && !endsParameter(text.charCodeAt(end), isDecoded)) end += 1;
  return end;
}

/**
 * Controls, `#` and `&`; and what URLs do not have, which is space, `"<>` and `` ` ``. In text that
 * was decoded they may be parts of a value that was encoded only once.
 */
export function endsParameter(unit: number, isDecoded: boolean): boolean {
  if (unit < 0x20 || unit === 0x23 || unit === 0x26) return true;
  if (isDecoded) return false;
  return unit === 0x20 || unit === 0x22 || unit === 0x3c || unit === 0x3e || unit === 0x60;
}
