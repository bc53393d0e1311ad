import type { Work } from "../contract.ts";
import { MASK } from "../rules/actions.ts";
import { NOT_COVERED } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { redactText } from "../values/text.ts";

/** Characters of a step, and the names that are looked up in one: about 0.1 ms. */
const STEP = 4096;
const NAMES_STEP = 128;

/**
 * Redacts text line by line: besides what is recognized anywhere, `name: value` and `name = value` if
 * a rule covers the name, to the end of the line.
 */
export function* redactPlainText(text: string, isCut: boolean, rules: RuleSet): Work<string> {
  const lines = text.split("\n");
  const last = lines.length - 1;
  let since = 0;
  for (const [index, line] of lines.entries()) {
    lines[index] = yield* redactNamed(redactText(line, isCut && index === last, rules), rules);
    since += line.length + 1;
    if (since < STEP) continue;
    since = 0;
    yield;
  }
  return lines.join("\n");
}

function* redactNamed(line: string, rules: RuleSet): Work<string> {
  let names = 0;
  for (const { index } of line.matchAll(/[:=]/gu)) {
    names += 1;
    if (names % NAMES_STEP === 0) yield;
    const name = NAME_BEFORE.exec(line.slice(Math.max(0, index - NAME_MAX), index))?.[1];
    if (name === undefined || rules.parameter(name) === NOT_COVERED) continue;
    const rest = line.slice(index + 1);
    const value = rest.trim();
    // Where the value ends is not known.
    if (value === "" || value === MASK) continue;
    return `${line.slice(0, index + 1)}${rest.startsWith(" ") ? " " : ""}${MASK}`;
  }
  return line;
}

const NAME_MAX = 80;
const NAME_BEFORE = /([\p{L}\p{N}][\p{L}\p{N}._-]{0,63})["']?[ \t]{0,4}$/u;
