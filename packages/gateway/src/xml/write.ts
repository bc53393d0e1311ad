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
export function xml(_strings: TemplateStringsArray, ..._values: readonly XmlValue[]): Xml {
  throw new Error("not written yet");
}

/** A document of S3: declaration, and a root element in S3's namespace around the content. */
export function xmlDocument(_root: string, _content: Xml): string {
  throw new Error("not written yet");
}

/**
 * A key or prefix as the text of an element. With `url` (`encoding-type=url`) it is percent-encoded,
 * apart from slashes; without, characters that XML 1.0 cannot have become references, as from AWS.
 */
export function keyText(_key: Uint8Array, _encoding: "url" | undefined): string {
  throw new Error("not written yet");
}
