import { StorageError } from "../../../errors.ts";
import { decodeEntities } from "../../http/entities.ts";

/**
 * The children of an XML element, in order; each is an object with the child's name as its only key.
 * Comes from the server, so that any element may be missing, repeated or malformed.
 */
export type XmlElement = readonly Readonly<Record<string, unknown>>[];

/** Without attributes, number conversion and trimming. Entities are decoded in `textOf`. */
const PARSER_OPTIONS = {
  preserveOrder: true,
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  processEntities: false,
  trimValues: false,
  jPath: false,
};

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

/**
 * Parses a document and returns its root element, or undefined if it is not well-formed. An empty
 * document counts as an empty root. A document type is rejected: no response of an S3 server has
 * one, and only a document type can define entities. So is one with too much markup.
 */
export async function parseXml(text: string): Promise<XmlElement | undefined> {
  const trimmed = text.trim();
  if (trimmed === "") return [];
  if (trimmed.includes("<!D") || hasTooMuchMarkup(trimmed)) return undefined;
  // Loaded here, so that programs that list nothing do not load it.
  const { XMLParser } = await import("fast-xml-parser");
  try {
    const [root, ...rest] = new XMLParser(PARSER_OPTIONS).parse(trimmed) as XmlElement;
    const [name, children] = Object.entries(root ?? {})[0] ?? [];
    if (rest.length > 0 || !isElement(children)) return undefined;
    // The parser accepts truncated documents, but those do not end with the root's end tag.
    return children.length === 0 || trimmed.endsWith(`</${name}>`) ? children : undefined;
  } catch {
    // Nested too deeply, or with an element named like `__proto__`.
    return undefined;
  }
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
function isElement(value: unknown): value is XmlElement {
  return Array.isArray(value);
}

/** @param operation the protocol's name of the request, such as `ListObjectsV2` */
export function invalidResult(action: string, operation: string): StorageError {
  const text = `the response is not a valid ${operation} result; check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`, { transient: true });
}
