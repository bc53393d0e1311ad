/** Markup that goes into a page as it is. */
export interface Html {
  readonly markup: string;
}

/** What may stand in a template: text is escaped, lists are joined, undefined and false leave nothing. */
type Part = Html | string | number | undefined | false | readonly Part[];

/** A tag for templates that escapes whatever is not markup already, attributes in quotes included. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const pieces = strings.map((text, i) => (i === 0 ? "" : written(parts[i - 1])) + text);
  return { markup: pieces.join("") };
}

/** For markup that something else has escaped. */
export function trusted(markup: string): Html {
  return { markup };
}

function written(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string" || typeof part === "number") return Bun.escapeHTML(part);
  if ("markup" in part) return part.markup;
  return part.map(written).join("");
}
