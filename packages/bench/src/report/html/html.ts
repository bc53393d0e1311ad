/** Markup that is inserted into a page unescaped. */
export interface Html {
  readonly markup: string;
}

/** A template value: text is escaped, lists are joined, undefined and false produce nothing. */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** A template tag that escapes everything except `Html`. Attribute values must be quoted. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const pieces = strings.map((text, i) => (i === 0 ? "" : written(parts[i - 1])) + text);
  return { markup: pieces.join("") };
}

/** Marks text as already escaped. */
export function trusted(markup: string): Html {
  return { markup };
}

function written(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string" || typeof part === "number") return Bun.escapeHTML(part);
  if ("markup" in part) return part.markup;
  return part.map(written).join("");
}
