import { matchesPattern } from "../../record/pattern.ts";

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

/** Makes a function that returns the rank of the first rule for a normalized name. */
export function rankedNames(patterns: readonly RankedPattern[]): (name: string) => number {
  const exact = new Map<string, number>();
  const globs: RankedPattern[] = [];
  for (const each of patterns) {
    if (each.pattern.includes("*")) globs.push(each);
    else exact.set(each.pattern, earlier(each.rank, exact.get(each.pattern) ?? NOT_COVERED));
  }
  globs.sort((a, b) => a.rank - b.rank);
  return (name) => {
    const found = exact.get(name) ?? NOT_COVERED;
    for (const { pattern, rank } of globs) {
      if (found !== NOT_COVERED && rank > found) break;
      if (matchesPattern(pattern, name)) return rank;
    }
    return found;
  };
}
