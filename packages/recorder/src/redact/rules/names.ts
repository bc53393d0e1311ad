import { patternMatcher } from "../../record/pattern.ts";

const PLAIN = /^[a-z0-9]*$/u;
// oxlint-disable-next-line no-control-regex
const ASCII = /^[\u0000-\u007f]*$/u;
const SEPARATORS = /[^\p{L}\p{N}]+/gu;

/**
 * A name without case and separators: `X-Api_Key`, `xApiKey` and `x api.key` are all `xapikey`.
 * Other forms of the same letters, such as full-width ones, count as the same.
 */
export function normalizedName(name: string): string {
  if (PLAIN.test(name)) return name;
  const folded = ASCII.test(name) ? name : name.normalize("NFKC");
  return folded.toLowerCase().replace(SEPARATORS, "");
}

/** The same of a pattern: its asterisks stay. */
export function normalizedPattern(pattern: string): string {
  return pattern.split("*").map(normalizedName).join("*");
}

/** No rule covers it. Ranks of rules are indexes: the rule with the lower one wins. */
export const NOT_COVERED = -1;

/** The rule that wins, of two. */
export function earlier(a: number, b: number): number {
  if (a === NOT_COVERED) return b;
  return b === NOT_COVERED || a < b ? a : b;
}

/** A pattern for normalized names, and the rank of its rule. */
export interface RankedPattern {
  readonly pattern: string;
  readonly rank: number;
}

/** Before and after a name, so that a pattern that has no asterisk there can include it. */
const START = 0x02;
const END = 0x03;
const MARKS = [String.fromCharCode(START), String.fromCharCode(END)] as const;

/** Compiles patterns into a function that returns the rank of the first rule for a normalized name. */
export function rankedNames(patterns: readonly RankedPattern[]): (name: string) => number {
  const words: RankedPattern[] = [];
  const others: { readonly matches: (name: string) => boolean; readonly rank: number }[] = [];
  for (const { pattern, rank } of patterns) {
    const parts = MARKS.join(pattern)
      .split("*")
      .filter((part) => part.length > 1 || (part !== MARKS[0] && part !== MARKS[1] && part !== ""));
    if (parts.length <= 1) words.push({ pattern: parts[0] ?? "", rank });
    else others.push({ matches: patternMatcher(pattern), rank });
  }
  const findWords = wordFinder(words);
  return (name) => {
    let found = findWords(name);
    for (const { matches, rank } of others) {
      if (earlier(rank, found) !== found && matches(name)) found = rank;
    }
    return found;
  };
}

/**
 * Makes a function that returns the lowest rank of the words that occur in a name, or `NOT_COVERED`.
 * It looks at each character once, however many words there are (A. Aho and M. Corasick, Efficient
 * string matching, 1975).
 */
function wordFinder(words: readonly RankedPattern[]): (name: string) => number {
  // A state is a beginning of a word, which the text before a character ends with.
  const next = new Map<number, number>();
  const ranks = [NOT_COVERED];
  const fallbacks = [0];
  const keyOf = (state: number, unit: number): number => state * 0x1_00_00 + unit;
  const edges: { from: number; unit: number; to: number; depth: number }[] = [];
  for (const { pattern: word, rank } of words) {
    let state = 0;
    for (let depth = 0; depth < word.length; depth++) {
      const unit = word.charCodeAt(depth);
      let to = next.get(keyOf(state, unit));
      if (to === undefined) {
        to = ranks.push(NOT_COVERED) - 1;
        next.set(keyOf(state, unit), to);
        edges.push({ from: state, unit, to, depth });
      }
      state = to;
    }
    ranks[state] = earlier(rank, ranks[state]!);
  }
  const step = (from: number, unit: number): number => {
    for (let state = from; ; state = fallbacks[state]!) {
      const to = next.get(keyOf(state, unit));
      if (to !== undefined) return to;
      if (state === 0) return 0;
    }
  };
  // A fallback is shorter, so that it has been completed before.
  for (const { from, unit, to } of edges.toSorted((a, b) => a.depth - b.depth)) {
    const fallback = from === 0 ? 0 : step(fallbacks[from]!, unit);
    fallbacks[to] = fallback;
    ranks[to] = earlier(ranks[to]!, ranks[fallback]!);
  }
  return (name) => {
    let state = step(0, START);
    let found = ranks[state]!;
    for (let at = 0; at < name.length; at++) {
      state = step(state, name.charCodeAt(at));
      found = earlier(found, ranks[state]!);
    }
    return earlier(found, ranks[step(state, END)]!);
  };
}
