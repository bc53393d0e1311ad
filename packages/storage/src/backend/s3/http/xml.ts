import { StorageError } from "../../../errors.ts";
import { decodeEntities } from "../../http/entities.ts";

/** An XML element. Comes from the server, so that any child may be missing, repeated or malformed. */
export interface XmlElement {
  readonly name: string;
  /** Its text, without that of its children; references are not decoded. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/**
 * The most characters of markup in a document: `<`, `&` and `=`. The longest real page, of 1000 entries
 * with a dozen elements each, has less than a third. Parsers take many times the time and memory for
 * markup that they take for text: seconds, and a gigabyte, for 8 MiB of empty elements.
 */
const MAX_MARKUP = 100_000;

/** Whether a document would take too long to parse. */
export function hasTooMuchMarkup(text: string): boolean {
  if (text.length <= MAX_MARKUP) return false;
  let count = 0;
  for (const _ of text.matchAll(/[<&=]/gu)) {
    count += 1;
    if (count > MAX_MARKUP) return true;
  }
  return false;
}

/** The child elements with this name. */
export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The text of the first child element with this name, or undefined if there is none. */
export function textOf(element: XmlElement, name: string): string | undefined {
  const child = element.children.find((each) => each.name === name);
  return child && decodeEntities(child.text);
}

/** @param operation the protocol's name of the request, such as `ListObjectsV2` */
export function invalidResult(action: string, operation: string): StorageError {
  const text = `the response is not a valid ${operation} result; check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`, { transient: true });
}
