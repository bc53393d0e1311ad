import { looksLikeSecret } from "../output/secrets.ts";
import { redactedUrl } from "./redacted.ts";

/** A key, and a value of one word or a list of them, without any quotes. */
const WITHOUT_QUOTES =
  /^\s*([\w.-]{1,60})\s*=\s*(\[[^"'[\]#{}]*\]|[^\s"'[\]#{}=][^\s"'[\]#{}]*)\s*(?:#.*)?$/u;

/** What other formats write for true and false. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["yes", "on", "true"].map((word) => [word, true] as const),
  ...["no", "off", "false"].map((word) => [word, false] as const),
]);

/** Keys of a configuration whose values are not secret. Those of other keys may be, by mistake. */
const SHOWN: ReadonlySet<string> = new Set([
  "chunk-size",
  "compress",
  "default",
  "grace-period",
  "identity",
  "padding",
  "recipients",
  "url",
  "workers",
]);

/**
 * What to write in place of a line that is not TOML, if the reason is a string without quotes.
 *
 * @returns a message that shows the line, without what may be a secret; undefined for another reason
 */
export function unquotedString(line: string): string | undefined {
  const [, key, value] = WITHOUT_QUOTES.exec(line) ?? [];
  if (key === undefined || value === undefined || looksLikeSecret(key)) return undefined;
  const boolean = BOOLEANS.get(value.toLowerCase());
  if (boolean !== undefined) return `${key} = ${value} is not TOML; write ${key} = ${boolean}`;
  const isList = value.startsWith("[");
  const items = (isList ? value.slice(1, -1).split(",") : [value]).map((item) => item.trim());
  if (items.some((item) => item === "")) return undefined;
  const listed = (texts: readonly string[]): string =>
    isList ? `[${texts.join(", ")}]` : texts.join("");
  if (!SHOWN.has(key) || items.some((item) => redactedUrl(item) !== item)) {
    return `${key} has no quotes; write ${key} = ${isList ? '["…", "…"]' : '"…"'}`;
  }
  return `${key} = ${listed(items)} has no quotes; write ${key} = ${listed(items.map(quoted))}`;
}

/** In single quotes, a backslash is only a backslash. */
function quoted(text: string): string {
  return text.includes("\\") ? `'${text}'` : `"${text}"`;
}
