/** Decides which entries a backup leaves out, by patterns as restic has them. */
export interface Excludes {
  /**
   * @param path components from the root, the name of the entry last, as `pathText` makes them
   */
  matches(path: readonly string[]): boolean;
  /** Whether something below a path that does not match may match. */
  mayMatchBelow(path: readonly string[]): boolean;
}

interface Rule {
  readonly isAnchored: boolean;
  readonly isNegated: boolean;
  /** Of each component; null stands for `**`, which is any number of components. */
  readonly components: readonly (RegExp | null)[];
}

/**
 * Compiles patterns. Within a component, `*` is any text, `?` one character, `[a-z]` and `[^a-z]` a
 * range, and `\` takes the next character as it is. `**` is any number of components, also none. A pattern that begins
 * with `/` is of the whole path; any other matches at every level. The last that matches decides, and
 * `!` in front makes it one of those to keep. What is in an excluded folder is not looked at.
 *
 * @throws RangeError that names the pattern, if one is malformed
 */
export function compileExcludes(patterns: readonly string[]): Excludes | undefined {
  const rules = patterns.map(compile);
  if (rules.length === 0) return undefined;
  return {
    matches(path) {
      for (let at = rules.length - 1; at >= 0; at -= 1) {
        const rule = rules[at]!;
        if (matchesEnd(rule, path)) return !rule.isNegated;
      }
      return false;
    },
    mayMatchBelow: (path) =>
      rules.some((rule) => !rule.isNegated && (!rule.isAnchored || mayMatchBelow(rule, path))),
  };
}

/**
 * The patterns in the text of a file: one a line, without space around it. Empty lines, and those that
 * begin with `#`, are none.
 */
export function parseExcludeFile(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A name as text. Each byte that is not UTF-8 becomes one character that no pattern contains. */
export function pathText(name: Uint8Array): string {
  try {
    return utf8.decode(name);
  } catch {
    return String.fromCodePoint(
      ...Array.from(name, (byte) => (byte < 0x80 ? byte : 0xdc00 + byte)),
    );
  }
}

function compile(pattern: string): Rule {
  const isNegated = pattern.startsWith("!");
  const body = isNegated ? pattern.slice(1) : pattern;
  const isAnchored = body.startsWith("/");
  const parts = body.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0) throw malformed(pattern, "it has no name");
  const components = parts.map((part) => (part === "**" ? null : expression(part, pattern)));
  return { isAnchored, isNegated, components };
}

function malformed(pattern: string, why: string): RangeError {
  return new RangeError(`the exclude pattern ${JSON.stringify(pattern)} is malformed: ${why}`);
}

function expression(part: string, pattern: string): RegExp {
  let source = "";
  const characters = Array.from(part);
  const literal = (character: string | undefined): string => {
    if (character === undefined) throw malformed(pattern, "nothing follows \\");
    return character.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
  };
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!;
    if (character === "*") {
      // Neighbours would take exponential time to fail.
      if (!source.endsWith(".*")) source += ".*";
    } else if (character === "?") {
      source += ".";
    } else if (character === "\\") {
      at += 1;
      source += literal(characters[at]);
    } else if (character === "[") {
      const { text, end } = characterClass(characters, at + 1, literal, pattern);
      source += text;
      at = end;
    } else {
      source += literal(character);
    }
  }
  return new RegExp(`^${source}$`, "su");
}

function characterClass(
  characters: readonly string[],
  start: number,
  literal: (character: string | undefined) => string,
  pattern: string,
): { text: string; end: number } {
  let at = start;
  const isNegated = characters[at] === "^" || characters[at] === "!";
  if (isNegated) at += 1;
  const next = (): string => {
    if (characters[at] === "\\") at += 1;
    const character = characters[at];
    if (character === undefined) throw malformed(pattern, "a [ is not closed");
    at += 1;
    return character;
  };
  let text = "";
  while (characters[at] !== "]" || text === "") {
    const from = next();
    let to = from;
    if (characters[at] === "-" && characters[at + 1] !== "]") {
      at += 1;
      to = next();
    }
    if (from.codePointAt(0)! > to.codePointAt(0)!) throw malformed(pattern, "a range is backwards");
    // Between two characters it would be a range, and outside of a class it must not be escaped.
    const inClass = (character: string) =>
      character === "-" ? String.raw`\-` : literal(character);
    text += from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`;
  }
  return { text: `[${isNegated ? "^" : ""}${text}]`, end: at };
}

/** Whether a rule matches a path up to its end. What is above was asked before, on the way. */
function matchesEnd({ components, isAnchored }: Rule, path: readonly string[]): boolean {
  // The name decides nearly always.
  const last = components.at(-1)!;
  if (last !== null && !last.test(path.at(-1)!)) return false;
  return matchedUpTo({ components, isAnchored }, path)[components.length]!;
}

function mayMatchBelow(
  rule: Pick<Rule, "components" | "isAnchored">,
  path: readonly string[],
): boolean {
  return matchedUpTo(rule, path).slice(0, -1).includes(true);
}

/** Whether the first n components of a pattern match a path up to its end, for each n from 0. */
function matchedUpTo(
  { components, isAnchored }: Pick<Rule, "components" | "isAnchored">,
  path: readonly string[],
): boolean[] {
  // Whether the first n components of the pattern match up to here; a row for each level, so that
  // several `**` take no more than the product of the lengths.
  let matched = components.map(() => false);
  const start = [true, ...matched];
  matched = closed(start, components);
  for (const name of path) {
    const next = [!isAnchored];
    for (const [at, component] of components.entries()) {
      next.push(component === null ? matched[at + 1]! : matched[at]! && component.test(name));
    }
    matched = closed(next, components);
  }
  return matched;
}

/** `**` matches no component, too. */
function closed(matched: boolean[], components: readonly (RegExp | null)[]): boolean[] {
  for (const [at, component] of components.entries()) {
    if (component === null && matched[at]!) matched[at + 1] = true;
  }
  return matched;
}
