/** The most characters of text from outside in one message, the mark of a cut included. */
const FOREIGN_MAX = 500;

/**
 * Controls (escape sequences begin with one), format characters such as bidirectional overrides and
 * zero-width characters, lone surrogates, and white space with its line and paragraph separators.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\s]+/gu;

/**
 * Text from outside, such as a server's error message, as part of a message: one line without
 * characters that control a terminal or reorder what it shows, and at most `max` characters long.
 * What was removed leaves one space.
 *
 * @param max UTF-16 code units
 */
export function foreignText(text: string, max: number = FOREIGN_MAX): string {
  const line = text.replaceAll(UNPRINTABLE, " ").trim();
  if (line.length <= max) return line;
  // Not between the two halves of a character.
  return `${line.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}

/**
 * An error from outside, to become the cause of one of ours. If its text is not fit for a log,
 * returns a copy that is, with its name, code and stack frames; the same for the errors it wraps.
 */
export function foreignCause(error: unknown): unknown {
  if (typeof error === "string") return foreignText(error);
  if (!(error instanceof Error)) return error;
  const { name, message, stack = "" } = error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const cause = foreignCause(error.cause);
  const isFit =
    cause === error.cause &&
    [name, message, code].every((text) => text === foreignText(text)) &&
    stack.split("\n").every((line) => line.trim() === foreignText(line));
  if (isFit) return error;
  const copy = new Error(foreignText(message), cause === undefined ? undefined : { cause });
  copy.name = foreignText(name);
  // The message may contain lines that look like frames.
  const at = stack.indexOf(message);
  const frames = (at === -1 ? "" : stack.slice(at + message.length))
    .split("\n")
    .filter((line) => /^\s+at /u.test(line))
    .map((line) => `    ${foreignText(line)}`);
  copy.stack = [`${copy.name}: ${copy.message}`, ...frames].join("\n");
  return code === "" ? copy : Object.assign(copy, { code: foreignText(code) });
}
