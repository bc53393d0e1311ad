import type { Work } from "../contract.ts";
import { MASK } from "../rules/actions.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { isSuspicious, redactText } from "../values/text.ts";
import { createJsonScanner } from "./scanner.ts";

/** Bytes of a step: at most about 0.5 ms, if each member has another name. */
const STEP = 4096;

/** How many times JSON may be in a string of JSON; beyond that, what begins like JSON is masked. */
const NESTED_MAX = 3;

/** `broken`: it is not JSON. `dropped`: a rule drops all of it. */
export type JsonResult = Uint8Array | "broken" | "dropped";

/**
 * Redacts a JSON text.
 *
 * @param isCut the bytes are only its beginning
 * @param depth how many strings of JSON it is in
 * @returns the same bytes if there is nothing to replace
 */
export function* redactJson(
  bytes: Buffer,
  isCut: boolean,
  rules: RuleSet,
  depth: number = 0,
): Work<JsonResult> {
  const redactString = (text: string, isTextCut: boolean): Work<string> =>
    redactValue(text, isTextCut, rules, { depth: depth + 1 });
  const scanner = createJsonScanner({ bytes, isCut, rules, redactString });
  for (let to = STEP; !scanner.advance(to); to += STEP) yield;
  const result = scanner.result();
  if (typeof result === "string") return result;
  return result.isEmpty() ? bytes : yield* result.applied();
}

/**
 * Redacts a value that may be JSON itself, such as a parameter or a string in JSON; otherwise it is
 * text.
 *
 * @param depth how many strings of JSON it is in
 * @param decodings how many times it was percent-decoded
 */
export function* redactValue(
  text: string,
  isCut: boolean,
  rules: RuleSet,
  { depth = 0, decodings = 0 }: { readonly depth?: number; readonly decodings?: number } = {},
): Work<string> {
  if (!isCut && !isSuspicious(text)) return text;
  if (/^\s*["{[]/u.test(text)) {
    if (depth === NESTED_MAX) return MASK;
    const bytes = Buffer.from(text);
    // Whoever put it into a string may have truncated it.
    for (const isTruncated of isCut ? [true] : [false, true]) {
      const result = yield* redactJson(bytes, isTruncated, rules, depth);
      if (result === "dropped") return MASK;
      if (result !== "broken") return result === bytes ? text : Buffer.from(result).toString();
    }
  }
  return yield* redactText(text, isCut, rules, decodings);
}

/** What takes the place of a text that a rule covers; undefined to drop it. */
export function* appliedRule(rank: number, text: string, rules: RuleSet): Work<string | undefined> {
  return rules.apply(rank, rules.keepsPart(rank) ? yield* redactValue(text, false, rules) : text);
}
