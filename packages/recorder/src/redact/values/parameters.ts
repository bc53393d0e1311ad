import { redactValue } from "../json/redact-json.ts";
import { MASK } from "../rules/actions.ts";
import { NOT_COVERED } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { decoded, encoded } from "./percent.ts";

/**
 * Redacts a query or form: `name=value` separated by `&`. What is not redacted stays as it was
 * written.
 *
 * @param isCut the text is only the beginning
 */
export function redactParameters(text: string, isCut: boolean, rules: RuleSet): string {
  if (text === "") return text;
  const parts = text.split("&");
  const kept: string[] = [];
  for (const [index, part] of parts.entries()) {
    const redacted = redactPart(part, isCut && index === parts.length - 1, rules);
    if (redacted !== undefined) kept.push(redacted);
  }
  return kept.join("&");
}

/** @returns undefined to drop it */
function redactPart(part: string, isCut: boolean, rules: RuleSet): string | undefined {
  const equals = part.indexOf("=");
  if (equals === -1) return redactName(part, isCut, rules);
  const rawName = part.slice(0, equals);
  // The cut may have ended a sequence such as `%41` in the middle.
  const raw = isCut ? part.slice(equals + 1).replace(/%[0-9a-f]?$/iu, "") : part.slice(equals + 1);
  const name = decoded(rawName);
  // Whatever it is, no rule can be applied to it.
  if (name === undefined) return `${MASK}=${MASK}`;
  const shownName = redactName(rawName, false, rules);
  const rank = rules.parameter(name);
  const value = decoded(raw);
  if (rank === NOT_COVERED) {
    // A cut may end a character, too.
    if (value === undefined) return `${shownName}=${MASK}`;
    const redacted = redactValue(value, isCut, rules, { decodings: value === raw ? 0 : 1 });
    return `${shownName}=${redacted === value ? raw : encoded(redacted)}`;
  }
  if (rules.drops(rank)) return undefined;
  if (value === undefined || isCut) return `${shownName}=${MASK}`;
  const by = rules.apply(rank, value, () => redactValue(value, false, rules)) ?? MASK;
  return `${shownName}=${encoded(by)}`;
}

function redactName(raw: string, isCut: boolean, rules: RuleSet): string {
  const name = decoded(raw);
  return name !== undefined && redactValue(name, isCut, rules) === name ? raw : MASK;
}
