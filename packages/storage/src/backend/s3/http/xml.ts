import { StorageError } from "../../../errors.ts";
import { decodeEntities } from "../../http/entities.ts";

/**
 * The children of an XML element, in order; each is an object with the child's name as its only key.
 * Comes from the server, so that any element may be missing, repeated or malformed.
 */
export type XmlElement = readonly Readonly<Record<string, unknown>>[];

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
  const children: XmlElement[] = [];
  for (const node of element) {
    const child = Object.hasOwn(node, name) ? node[name] : undefined;
    if (isElement(child)) children.push(child);
  }
  return children;
}

/** The text of the first child element with this name, or undefined if there is none. */
export function textOf(element: XmlElement, name: string): string | undefined {
  const child = element.find((node) => Object.hasOwn(node, name))?.[name];
  if (!isElement(child)) return undefined;
  let text = "";
  for (const { "#text": part } of child) if (typeof part === "string") text += part;
  return decodeEntities(text);
}

/** Whether a value of a node is an element rather than text. */
export function isElement(value: unknown): value is XmlElement {
  return Array.isArray(value);
}

/** @param operation the protocol's name of the request, such as `ListObjectsV2` */
export function invalidResult(action: string, operation: string): StorageError {
  const text = `the response is not a valid ${operation} result; check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`, { transient: true });
}
