import type { Work } from "../contract.ts";
import { MASK } from "../rules/actions.ts";
import { NOT_COVERED } from "../rules/names.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { nameBefore, redactedWord } from "../values/named-values.ts";
import { redactText } from "../values/text.ts";

/** Characters of a step, of which a line counts as some: about 0.1 ms. */
const STEP = 4096;
const LINE_COST = 128;

/** Names that are looked up in a step. */
const NAMES_STEP = 64;

/** A name whose value is below. */
interface Awaited {
  /** The rule for the name. */
  readonly rank: number;
  /** The indentation of the name. */
  readonly indent: number;
  /** Whether lines of the value were above. */
  readonly hasBegun: boolean;
}

/**
 * Redacts text line by line: besides what is recognized anywhere, `name: value` and `name = value` if
 * a rule covers the name, to the end of the line. If the value is not on the line of its name, that is
 * the next line that is not blank, and those after it while they are indented deeper than the name.
 */
export function* redactPlainText(text: string, isCut: boolean, rules: RuleSet): Work<string> {
  const lines: string[] = [];
  let since = 0;
  let awaited: Awaited | undefined;
  for (let start = 0; start <= text.length;) {
    const next = text.indexOf("\n", start);
    const end = next === -1 ? text.length : next;
    const line = text.slice(start, end);
    start = end + 1;
    const isLineCut = isCut && next === -1;
    if (line.trim() === "") lines.push(line);
    else {
      const indent = indentOf(line);
      // A blank line ends no value.
      const deeper = awaited !== undefined && indent > awaited.indent ? awaited : undefined;
      const value: Awaited | undefined = awaited?.hasBegun === false ? awaited : deeper;
      if (value === undefined) {
        const redacted = yield* redactText(line, isLineCut, rules);
        lines.push(yield* redactNamed(redacted, !isLineCut, rules));
      } else lines.push(redactedLine(line, value.rank, !isLineCut && !value.hasBegun, rules));
      const rank = yield* nameOfNextLine(line, rules);
      if (rank !== NOT_COVERED) {
        awaited = { rank, indent: Math.min(indent, value?.indent ?? indent), hasBegun: false };
      } else awaited = deeper && { ...deeper, hasBegun: true };
    }
    since += line.length + LINE_COST;
    if (since < STEP) continue;
    since = 0;
    yield;
  }
  return lines.join("\n");
}

/** Blanks, and what begins items of lists in YAML, before a name or a value. */
const INDENT = /^[ \t]*(?:[?-][ \t]+){0,64}/u;

/** So that lines below `- name:` are deeper than the name, and items of a list below `name:`, too. */
function indentOf(line: string): number {
  return INDENT.exec(line)![0].length;
}

/** @param line after what is recognized anywhere, such as `name=value`, was replaced */
function* redactNamed(line: string, isWhole: boolean, rules: RuleSet): Work<string> {
  let names = 0;
  for (const { index } of line.matchAll(/[:=]/gu)) {
    names += 1;
    if (names % NAMES_STEP === 0) yield;
    const rank = rules.parameter(nameBefore(line, index));
    if (rank === NOT_COVERED) continue;
    const rest = line.slice(index + 1);
    const value = rest.trim();
    if (value === "" || value === MASK) continue;
    const isReplaced = line[index] === "=";
    if (isReplaced && HASHED.test(value)) continue;
    // Where the value ends is not known.
    const by = isReplaced || !isWhole ? MASK : redactedWord(value, rank, rules);
    return `${line.slice(0, index + 1)}${rest.startsWith(" ") ? " " : ""}${by}`;
  }
  return line;
}

/** What `hashedText` makes. */
const HASHED = /^hash:[0-9a-f]{32}$/u;

/** Characters at the end of a line where its value would be. */
const TAIL = 20;

/** The end of a line whose value follows on the next line: `:`, `=`, `=>`, a YAML block, a backslash. */
const VALUE_BELOW = /[:=]{1,3}>?[ \t]{0,12}(?:\\|[|>][+-]?[1-9]?[+-]?)?$/u;

/** The rule for the name that ends a line, or `NOT_COVERED`. */
function nameAtEnd(line: string, rules: RuleSet): number {
  const end = line.trimEnd();
  // Few lines end like this.
  if (!":=|>\\+-123456789".includes(end.at(-1) ?? " ")) return NOT_COVERED;
  const tail = Math.max(0, end.length - TAIL);
  const mark = end.slice(tail).search(VALUE_BELOW);
  return mark === -1 ? NOT_COVERED : rules.parameter(nameBefore(end, tail + mark));
}

/** After a colon, what YAML has on the line of a name whose value is below: see `nameOfNextLine`. */
const BEFORE_VALUE_BELOW = /:[ \t]{0,12}[|>!&#]/gu;

/**
 * The rule for the name whose value is on the next line, or `NOT_COVERED`: one that ends the line, or
 * is before the beginning of a block, a tag, an anchor or a comment. Text that is no YAML may have the
 * value on this line, too, so that both are masked.
 */
function* nameOfNextLine(line: string, rules: RuleSet): Work<number> {
  const atEnd = nameAtEnd(line, rules);
  if (atEnd !== NOT_COVERED) return atEnd;
  let names = 0;
  for (const { index } of line.matchAll(BEFORE_VALUE_BELOW)) {
    names += 1;
    if (names % NAMES_STEP === 0) yield;
    const rank = rules.parameter(nameBefore(line, index));
    if (rank !== NOT_COVERED) return rank;
  }
  return NOT_COVERED;
}

/** A line that is a value; blanks around it stay. */
function redactedLine(line: string, rank: number, isWhole: boolean, rules: RuleSet): string {
  const value = line.trim();
  const by = isWhole ? redactedWord(value, rank, rules) : MASK;
  const start = line.indexOf(value);
  return `${line.slice(0, start)}${by}${line.slice(start + value.length)}`;
}
