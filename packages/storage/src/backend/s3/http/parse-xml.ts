/** To be imported when needed, so that programs that list nothing do not load the parser. */
import { XMLParser } from "fast-xml-parser";
import { hasTooMuchMarkup, isElement, type XmlElement } from "./xml.ts";

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
 * one, and only a document type can define entities. So is one with too much markup.
 */
export function parseXml(text: string): XmlElement | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return [];
  if (trimmed.includes("<!D") || hasTooMuchMarkup(trimmed)) return undefined;
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
