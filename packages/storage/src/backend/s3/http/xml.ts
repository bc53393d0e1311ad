import { StorageError } from "../../../errors.ts";

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
 * Parses a document and returns its root element, or undefined if it is not well-formed. An empty
 * document counts as an empty root. A document type is rejected: no response of an S3 server has
 * one, and only a document type can define entities.
 */
export async function parseXml(text: string): Promise<XmlElement | undefined> {
  if (text.trim() === "") return [];
  if (/<!DOCTYPE/iu.test(text)) return undefined;
  // Loaded here, so that programs that list nothing do not load it.
  const { XMLParser, XMLValidator } = await import("fast-xml-parser");
  // The parser alone accepts truncated documents.
  if (XMLValidator.validate(text) !== true) return undefined;
  try {
    const document = new XMLParser(PARSER_OPTIONS).parse(text) as XmlElement;
    return childrenIn(document.find((node) => !("#text" in node)) ?? {})[0];
  } catch {
    // Nested too deeply, or with an element named like `__proto__`.
    return undefined;
  }
}

/** The child elements with this name. */
export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.flatMap((node) => (Object.hasOwn(node, name) ? childrenIn(node) : []));
}

/** The text of the first child element with this name, or undefined if there is none. */
export function textOf(element: XmlElement, name: string): string | undefined {
  const node = element.find((child) => Object.hasOwn(child, name));
  if (node === undefined) return undefined;
  const parts = childrenIn(node).flatMap((child) => child.map((part) => part["#text"]));
  return decodeEntities(parts.filter((part) => typeof part === "string").join(""));
}

/** The one element in a node, as a list, or none if the node is text. */
function childrenIn(node: Readonly<Record<string, unknown>>): XmlElement[] {
  return Object.values(node).filter((value): value is XmlElement => Array.isArray(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  amp: "&",
};

/** Decodes the five predefined entities and character references; leaves anything else alone. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(
    /&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#x([0-9a-f]{1,6}));/giu,
    (entity, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES[name] ?? entity;
      const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return point <= 0x10ffff ? String.fromCodePoint(point) : entity;
    },
  );
}

/** @param operation the protocol's name of the request, such as `ListObjectsV2` */
export function invalidResult(action: string, operation: string): StorageError {
  const text = `the response is not a valid ${operation} result; check the endpoint URL`;
  return new StorageError("unavailable", `cannot ${action}: ${text}`, { transient: true });
}
