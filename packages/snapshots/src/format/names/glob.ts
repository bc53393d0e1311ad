/** Any text, also none. */
export const ANY_TEXT = -1;
/** Any one character. */
export const ANY_CHARACTER = -2;

/** One character of a set of ranges, or outside of it. */
export interface CharacterSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** A part of a glob: a character by its code point, or what stands for some. */
export type GlobPart = number | CharacterSet;

export interface Glob {
  readonly parts: readonly GlobPart[];
  /** Characters that every text ends with, which decide nearly always. */
  readonly suffix: string;
}

const SUFFIX_MAX = 64;

export function globOf(parts: readonly GlobPart[]): Glob {
  let suffix = "";
  for (let at = parts.length - 1; at >= 0 && suffix.length < SUFFIX_MAX; at -= 1) {
    const part = parts[at]!;
    if (typeof part !== "number" || part < 0) break;
    suffix = String.fromCodePoint(part) + suffix;
  }
  return { parts, suffix };
}

/**
 * Whether a glob matches a whole text. Takes time in proportion to the product of the lengths at most,
 * whatever the glob: only the last `ANY_TEXT` is ever tried again, because the leftmost place of what
 * comes before leaves the most for what comes after.
 */
export function matchesGlob({ parts, suffix }: Glob, text: string): boolean {
  if (!text.endsWith(suffix)) return false;
  let [at, from] = [0, 0];
  /** The part after the last `ANY_TEXT`, and where in the text it is tried. */
  let [retry, tried] = [-1, 0];
  while (from < text.length) {
    const part = parts[at];
    if (part === ANY_TEXT) {
      at += 1;
      [retry, tried] = [at, from];
      continue;
    }
    const character = text.codePointAt(from)!;
    if (part !== undefined && matchesCharacter(part, character)) {
      at += 1;
      from += widthOf(character);
    } else if (retry === parts.length) {
      return true;
    } else if (retry === -1) {
      return false;
    } else {
      tried += widthOf(text.codePointAt(tried)!);
      [at, from] = [retry, tried];
    }
  }
  while (parts[at] === ANY_TEXT) at += 1;
  return at === parts.length;
}

function matchesCharacter(part: GlobPart, character: number): boolean {
  if (typeof part === "number") return part === character || part === ANY_CHARACTER;
  for (const [from, to] of part.ranges) {
    if (character >= from && character <= to) return !part.isNegated;
  }
  return part.isNegated;
}

/** In UTF-16. */
function widthOf(character: number): number {
  return character > 0xffff ? 2 : 1;
}
