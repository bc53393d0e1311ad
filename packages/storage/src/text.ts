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

/** How many errors that wrap each other are kept. A chain may also be a circle. */
const CAUSES_MAX = 8;

/**
 * An error from outside, to become the cause of one of ours. If anything in it is not fit for a log,
 * returns a copy that is, with its name, code and stack frames; the same for the errors it wraps, at
 * most 8 deep. Never throws.
 */
export function foreignCause(error: unknown): unknown {
  try {
    return fitCause(error, CAUSES_MAX);
  } catch {
    // A getter that throws, or a text that is none.
    return new Error("an error that cannot be shown");
  }
}

function fitCause(error: unknown, left: number): unknown {
  if (error === undefined || error === null || left === 0) return undefined;
  if (typeof error === "string") return foreignText(error);
  if (!(error instanceof Error)) return `a value of the type ${typeof error}`;
  const { name, message, stack = "" } = error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const cause = fitCause(error.cause, left - 1);
  const isFit =
    cause === error.cause &&
    [name, message].every((text) => text === foreignText(text)) &&
    stack.split("\n").every((line) => line.trim() === foreignText(line)) &&
    hasFitProperties(error);
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

/**
 * Whether what a log shows beside the stack is fit for it: `code`, `path` and the like. Clients of
 * providers keep whole responses there, and an `AggregateError` other errors.
 */
function hasFitProperties(error: Error): boolean {
  return Object.getOwnPropertyNames(error)
    .filter((key) => !["message", "stack", "cause"].includes(key))
    .every((key) => {
      const value = (error as unknown as Readonly<Record<string, unknown>>)[key];
      if (typeof value === "string")
        return key === foreignText(key) && value === foreignText(value);
      return value === undefined || typeof value === "number" || typeof value === "boolean";
    });
}
