import type { Work } from "../contract.ts";
import { MASK } from "../rules/actions.ts";
import type { Span } from "./spans.ts";

const DIGITS_MIN = 13;
const DIGITS_MAX = 19;

/** Card numbers are written in groups of 4 digits, or of 4, 6 and 5; the last may have 3. */
const GROUP_MIN = 3;

/** Digits, with single spaces or hyphens, and maybe more of them. */
const DIGIT_RUN = /\d[\d -]{11,}\d/gu;

const HAS_DIGIT_RUN = new RegExp(DIGIT_RUN.source, "u");

/** Whether a text may have a card number. Most have none. */
export function mayHaveCardNumber(text: string, isCut: boolean): boolean {
  return isCut || HAS_DIGIT_RUN.test(text);
}

/** Of a card number that was cut, the first six digits name the bank; more of them are secret. */
const PARTIAL_RUN = /(?:\d[ -]?){7,}$/u;

/** What the last part of a cut text may have of a card number. */
const PARTIAL_MAX = 2 * DIGITS_MAX;

/**
 * Numbers of 13 to 19 digits with a valid Luhn checksum, also in groups between which there is a
 * space or hyphen. Not covered are fractions, and numbers that look like times in milliseconds,
 * microseconds or nanoseconds since 1970, of which every tenth has a valid checksum: no card number
 * of 13, 16 or 19 digits begins with 1.
 */
export function* cardNumberSpans(text: string, isCut: boolean, spans: Span[]): Work<void> {
  for (const { 0: run, index } of text.matchAll(DIGIT_RUN)) {
    const isFraction = index >= 2 && text[index - 1] === "." && isDigit(text.charCodeAt(index - 2));
    yield* addNumbers(groupsOf(run, index), isFraction ? 1 : 0, text, spans);
  }
  if (!isCut) return;
  const from = Math.max(0, text.length - PARTIAL_MAX);
  const partial = PARTIAL_RUN.exec(text.slice(from));
  if (partial === null) return;
  spans.push({ start: from + partial.index, end: text.length, text: MASK });
}

/** Groups of a step: about 0.1 ms. */
const STEP = 64;

interface Group {
  readonly start: number;
  readonly end: number;
}

/** The groups of digits of a run; an empty group where there is more than one separator. */
function groupsOf(run: string, offset: number): Group[] {
  const groups: Group[] = [];
  let start = 0;
  for (let at = 0; at <= run.length; at++) {
    if (at < run.length && isDigit(run.charCodeAt(at))) continue;
    groups.push({ start: offset + start, end: offset + at });
    start = at + 1;
  }
  return groups;
}

function* addNumbers(
  groups: readonly Group[],
  from: number,
  text: string,
  spans: Span[],
): Work<void> {
  for (let first = from; first < groups.length; first++) {
    if (first % STEP === STEP - 1) yield;
    let digits = "";
    for (let last = first; last < groups.length; last++) {
      const { start, end } = groups[last]!;
      if (end - start < GROUP_MIN || digits.length + end - start > DIGITS_MAX) break;
      digits += text.slice(start, end);
      if (digits.length < DIGITS_MIN || (first === last && isTime(digits))) continue;
      if (hasValidChecksum(digits)) spans.push({ start: groups[first]!.start, end, text: MASK });
    }
  }
}

function isTime(digits: string): boolean {
  return digits.startsWith("1") && (digits.length - DIGITS_MIN) % 3 === 0;
}

/** The Luhn algorithm (ISO/IEC 7812-1, annex B). */
export function hasValidChecksum(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, isDoubled = false; at >= 0; at--, isDoubled = !isDoubled) {
    const digit = digits.charCodeAt(at) - 0x30;
    const value = isDoubled ? 2 * digit : digit;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}
