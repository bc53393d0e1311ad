import type { Work } from "../contract.ts";
import { appliedRule, redactValue } from "../json/redact-json.ts";
import { MASK } from "../rules/actions.ts";
import { NOT_COVERED } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { decoded, encoded } from "./percent.ts";

/** Parameters of a step: about 0.1 ms. */
const STEP = 32;

/** A longer name is masked together with its value. */
export const PARAMETER_NAME_MAX = 1024;

/**
 * Redacts a query or form: `name=value` separated by `&`. What is not redacted stays as it was
 * written.
 *
 * @param isCut the text is only the beginning
 */
export function* redactParameters(text: string, isCut: boolean, rules: RuleSet): Work<string> {
  if (text === "") return text;
  const kept: string[] = [];
  let count = 0;
  for (let start = 0; start <= text.length; count++) {
    if (count % STEP === STEP - 1) yield;
    const next = text.indexOf("&", start);
    const end = next === -1 ? text.length : next;
    const isLast = next === -1;
    const redacted = yield* redactPart(text.slice(start, end), isCut && isLast, rules);
    if (redacted !== undefined) kept.push(redacted);
    start = end + 1;
  }
  return kept.join("&");
}

/** @returns undefined to drop it */
function* redactPart(part: string, isCut: boolean, rules: RuleSet): Work<string | undefined> {
  const equals = part.indexOf("=");
  if (equals === -1) return yield* redactName(part, isCut, rules);
  const rawName = part.slice(0, equals);
  // The cut may have ended a sequence such as `%41` in the middle.
  const raw = isCut ? part.slice(equals + 1).replace(/%[0-9a-f]?$/iu, "") : part.slice(equals + 1);
  const name = decoded(rawName);
  // Whatever it is, no rule can be applied to it.
  if (name === undefined || name.length > PARAMETER_NAME_MAX) return `${MASK}=${MASK}`;
  const shownName = yield* redactName(rawName, false, rules);
  const rank = rules.parameter(name);
  const value = decoded(raw);
  if (rank === NOT_COVERED) {
    // A cut may end a character, too.
    if (value === undefined) return `${shownName}=${MASK}`;
    const redacted = yield* redactValue(value, isCut, rules, { decodings: value === raw ? 0 : 1 });
    return `${shownName}=${redacted === value ? raw : encoded(redacted)}`;
  }
  if (rules.drops(rank)) return undefined;
  if (value === undefined || isCut) return `${shownName}=${MASK}`;
  const by = yield* appliedRule(rank, value, rules);
  return `${shownName}=${encoded(by ?? MASK)}`;
}

function* redactName(raw: string, isCut: boolean, rules: RuleSet): Work<string> {
  const name = decoded(raw);
  return name !== undefined && (yield* redactValue(name, isCut, rules)) === name ? raw : MASK;
}
