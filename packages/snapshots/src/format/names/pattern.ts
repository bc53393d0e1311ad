import { ANY_TEXT, globOf, matchesGlob } from "./glob.ts";

/**
 * Whether a pattern matches a whole name. `*` stands for any text, also none; every other character
 * stands for itself. Takes time in proportion to the product of the lengths at most.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts: number[] = [];
  for (const each of pattern) parts.push(each === "*" ? ANY_TEXT : each.codePointAt(0)!);
  return matchesGlob(globOf(parts), name);
}
