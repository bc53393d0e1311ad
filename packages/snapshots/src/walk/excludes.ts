import {
  ANY_CHARACTER,
  ANY_TEXT,
  type CharacterSet,
  type Glob,
  type GlobPart,
  globOf,
  matchesGlob,
} from "../format/names/glob.ts";

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
  readonly components: readonly Component[];
}

type Component = Glob | null;

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

type Anchored = Pick<Rule, "components" | "isAnchored">;

function compile(pattern: string): Rule {
  const isNegated = pattern.startsWith("!");
  const body = isNegated ? pattern.slice(1) : pattern;
  return { isAnchored: body.startsWith("/"), isNegated, components: componentsOf(body, pattern) };
}

/**
 * Compiles a pattern to find paths by: as `compileExcludes`, but `!` in front stands for itself, a
 * pattern with a slash is of the whole path, and `**` at its end is at least one component.
 *
 * @throws RangeError that names the pattern, if it is malformed
 */
export function compileFinder(pattern: string): (path: readonly string[]) => boolean {
  const components = componentsOf(pattern, pattern);
  if (components.at(-1) === null) components.push(globOf([ANY_TEXT]));
  const rule = { isAnchored: pattern.includes("/"), components };
  return (path) => matchesEnd(rule, path);
}

function componentsOf(body: string, pattern: string): Component[] {
  const parts = body.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0) throw malformed(pattern, "it has no name");
  return parts.map((part) => (part === "**" ? null : globOf(partsOf(part, pattern))));
}

function malformed(pattern: string, why: string): RangeError {
  return new RangeError(`the pattern ${JSON.stringify(pattern)} is malformed: ${why}`);
}

function partsOf(component: string, pattern: string): GlobPart[] {
  const parts: GlobPart[] = [];
  const characters = Array.from(component);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!;
    if (character === "*") {
      parts.push(ANY_TEXT);
    } else if (character === "?") {
      parts.push(ANY_CHARACTER);
    } else if (character === "[") {
      const { set, end } = characterSet(characters, at + 1, pattern);
      parts.push(set);
      at = end;
    } else {
      if (character === "\\") at += 1;
      const literal = characters[at]?.codePointAt(0);
      if (literal === undefined) throw malformed(pattern, "nothing follows \\");
      parts.push(literal);
    }
  }
  return parts;
}

function characterSet(
  characters: readonly string[],
  start: number,
  pattern: string,
): { set: CharacterSet; end: number } {
  let at = start;
  const isNegated = characters[at] === "^" || characters[at] === "!";
  if (isNegated) at += 1;
  const next = (): number => {
    if (characters[at] === "\\") at += 1;
    const character = characters[at]?.codePointAt(0);
    if (character === undefined) throw malformed(pattern, "a [ is not closed");
    at += 1;
    return character;
  };
  const ranges: [from: number, to: number][] = [];
  while (characters[at] !== "]" || ranges.length === 0) {
    const from = next();
    let to = from;
    if (characters[at] === "-" && characters[at + 1] !== "]") {
      at += 1;
      to = next();
    }
    if (from > to) throw malformed(pattern, "a range is backwards");
    ranges.push([from, to]);
  }
  return { set: { isNegated, ranges }, end: at };
}

/** Whether a rule matches a path up to its end. */
function matchesEnd({ components, isAnchored }: Anchored, path: readonly string[]): boolean {
  // The name decides nearly always.
  const last = components.at(-1)!;
  if (last !== null && !matchesGlob(last, path.at(-1)!)) return false;
  return matchedUpTo({ components, isAnchored }, path)[components.length]!;
}

function mayMatchBelow(rule: Anchored, path: readonly string[]): boolean {
  return matchedUpTo(rule, path).slice(0, -1).includes(true);
}

/** Whether the first n components of a pattern match a path up to its end, for each n from 0. */
function matchedUpTo({ components, isAnchored }: Anchored, path: readonly string[]): boolean[] {
  // Whether the first n components of the pattern match up to here; a row for each level, so that
  // several `**` take no more than the product of the lengths.
  let matched = components.map(() => false);
  const start = [true, ...matched];
  matched = closed(start, components);
  for (const name of path) {
    const next = [!isAnchored];
    for (const [at, component] of components.entries()) {
      next.push(
        component === null ? matched[at + 1]! : matched[at]! && matchesGlob(component, name),
      );
    }
    matched = closed(next, components);
  }
  return matched;
}

/** `**` matches no component, too. */
function closed(matched: boolean[], components: readonly Component[]): boolean[] {
  for (const [at, component] of components.entries()) {
    if (component === null && matched[at]!) matched[at + 1] = true;
  }
  return matched;
}
