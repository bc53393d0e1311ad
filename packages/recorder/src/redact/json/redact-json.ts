import type { Work } from "../contract.ts";
import { MASK } from "../rules/actions.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { isSuspicious, redactText } from "../values/text.ts";
import { createJsonScanner, type JsonResult, type JsonScanner } from "./scanner.ts";

/** Bytes of a step: about 0.1 ms. */
const STEP = 16 * 1024;

/** How many times JSON may be in a string of JSON; beyond that, what begins like JSON is masked. */
const NESTED_MAX = 3;

/**
 * Redacts a JSON text.
 *
 * @param isCut the bytes are only its beginning
 */
export function* redactJson(bytes: Buffer, isCut: boolean, rules: RuleSet): Work<JsonResult> {
  const scanner = scannerOf(bytes, isCut, rules, 0);
  for (let to = STEP; !scanner.advance(to); to += STEP) yield;
  return scanner.result();
}

/**
 * Redacts a value that may be JSON itself, such as a parameter or a string in JSON; otherwise it is
 * text.
 *
 * @param depth how many strings of JSON it is in
 * @param decodings how many times it was percent-decoded
 */
export function redactValue(
  text: string,
  isCut: boolean,
  rules: RuleSet,
  { depth = 0, decodings = 0 }: { readonly depth?: number; readonly decodings?: number } = {},
): string {
  if (!isCut && !isSuspicious(text)) return text;
  if (/^\s*["{[]/u.test(text)) {
    if (depth === NESTED_MAX) return MASK;
    const bytes = Buffer.from(text);
    // Whoever put it into a string may have truncated it.
    for (const isTruncated of isCut ? [true] : [false, true]) {
      const scanner = scannerOf(bytes, isTruncated, rules, depth);
      scanner.advance(Infinity);
      const result = scanner.result();
      if (result === "dropped") return MASK;
      if (result !== "broken") return result === bytes ? text : Buffer.from(result).toString();
    }
  }
  return redactText(text, isCut, rules, decodings);
}

function scannerOf(bytes: Buffer, isCut: boolean, rules: RuleSet, depth: number): JsonScanner {
  const redactString = (text: string, isTextCut: boolean): string =>
    redactValue(text, isTextCut, rules, { depth: depth + 1 });
  return createJsonScanner({ bytes, isCut, rules, redactString });
}
