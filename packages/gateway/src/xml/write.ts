/** Markup that is ready to be sent. */
export class Xml {
  readonly markup: string;

  /** @param markup already escaped; use `xml` to make it */
  constructor(markup: string) {
    this.markup = markup;
  }
}

/** What a template may contain. Text is escaped, markup is not, `undefined` leaves nothing. */
export type XmlValue = string | number | boolean | Xml | readonly Xml[] | undefined;

/** A template of markup: xml`<Key>${text}</Key>`. */
export function xml(strings: TemplateStringsArray, ...values: readonly XmlValue[]): Xml {
  let markup = strings[0]!;
  for (const [i, value] of values.entries()) markup += markupOf(value) + strings[i + 1]!;
  return new Xml(markup);
}

function markupOf(value: XmlValue): string {
  if (value === undefined) return "";
  if (typeof value === "string") return escapeText(value);
  if (value instanceof Xml) return value.markup;
  if (typeof value === "object") return value.map(({ markup }) => markup).join("");
  return String(value);
}

/**
 * Markup, a carriage return, which a parser would take for a line feed, and what XML 1.0 cannot have.
 */
const ESCAPED = /[&<>"'\uFFFE\uFFFF]|(?![\t\n])\p{Cc}/gu;

const NAMED: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

/** A text as markup. For templates that are filled in so often that `xml` takes too long. */
export function escapeText(text: string): string {
  // AWS also writes references to characters that XML 1.0 cannot have.
  return text.replaceAll(
    ESCAPED,
    (character) => NAMED.get(character) ?? `&#x${character.charCodeAt(0).toString(16)};`,
  );
}

/** A document of S3: declaration, and a root element in S3's namespace around the content. */
export function xmlDocument(root: string, content: Xml): string {
  return `${DECLARATION}<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content.markup}</${root}>`;
}

/** What a document begins with. */
export const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * A key or prefix as the text of an element. With `url` (`encoding-type=url`) it is percent-encoded,
 * apart from slashes; without, characters that XML 1.0 cannot have become references, as from AWS.
 *
 * @param key UTF-8
 */
export function keyText(key: Uint8Array, encoding: "url" | undefined): string {
  const text = decoder.decode(key);
  if (encoding === undefined) return text;
  // A space is `%20`, which every client decodes, and not `+`.
  return encodeURIComponent(text)
    .replaceAll("%2F", "/")
    .replaceAll(
      /[!'()]/gu,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
