import { XMLParser, XMLValidator } from "fast-xml-parser";
import { S3Error } from "../errors.ts";

/** An element of a body that a client sent. */
export interface XmlElement {
  readonly name: string;
  /** Decoded, untrimmed. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** Without attributes, number conversion and trimming. Entities are decoded in `decodeEntities`. */
const PARSER_OPTIONS = {
  preserveOrder: true,
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  processEntities: false,
  trimValues: false,
  cdataPropName: "#cdata",
  // The deepest body of S3 has four.
  maxNestedTags: 8,
  jPath: false,
};

/**
 * The most tags and references. The longest body has 10,000 parts of some eight tags, and two quotation
 * marks each. Parsers take many times the time and memory for markup that they take for text.
 */
const MAX_TAGS = 100_000;
const MAX_REFERENCES = 250_000;
/** The most characters of a tag, and tags with attributes: only the root has one, its namespace. */
const MAX_TAG_LENGTH = 1024;
const MAX_ATTRIBUTES = 16;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses a body of XML. The length of the body is the caller's to limit.
 *
 * @param root the name that its root element must have
 * @throws S3Error `MalformedXML`, also for a document type, which no body of S3 has, and which alone
 *   can define entities; for too much markup; and for elements nested too deeply
 */
export function parseXml(body: Uint8Array, root: string): XmlElement {
  const text = decode(body);
  if (hasForeignMarkup(text) || hasTooMuchMarkup(text)) throw malformed();
  // The parser accepts truncated documents and others that are not well-formed.
  if (XMLValidator.validate(text) !== true) throw malformed();
  const roots = parse(text)
    .map(elementOf)
    .filter((element) => element !== undefined);
  const [element] = roots;
  if (element?.name !== root || roots.length > 1) throw malformed();
  return element;
}

function decode(body: Uint8Array): string {
  try {
    return decoder.decode(body).trim();
  } catch {
    throw malformed();
  }
}

/** Whether there is a document type, or an instruction besides the declaration. */
function hasForeignMarkup(text: string): boolean {
  // CDATA begins with `<![`, a comment with `<!-`.
  return text.includes("<!D") || text.includes("<!d") || text.includes("<?", 1);
}

function hasTooMuchMarkup(text: string): boolean {
  if (count(text, "<", MAX_TAGS) > MAX_TAGS) return true;
  if (count(text, "&", MAX_REFERENCES) > MAX_REFERENCES) return true;
  if (new RegExp(`<[^<>]{${MAX_TAG_LENGTH}}`, "u").test(text)) return true;
  let attributes = 0;
  for (const _ of text.matchAll(/<[^<>!?][^<>=]*=/gu)) {
    attributes += 1;
    if (attributes > MAX_ATTRIBUTES) return true;
  }
  return false;
}

/** How often a character is there, counted up to one more than `max`. */
function count(text: string, character: string, max: number): number {
  let found = 0;
  for (let at = text.indexOf(character); at !== -1 && found <= max; found++) {
    at = text.indexOf(character, at + 1);
  }
  return found;
}

type ParsedNode = Readonly<Record<string, unknown>>;

function parse(text: string): readonly ParsedNode[] {
  try {
    return new XMLParser(PARSER_OPTIONS).parse(text) as readonly ParsedNode[];
  } catch {
    throw malformed();
  }
}

/** @returns undefined for text between elements, which only the root's surroundings have */
function elementOf(node: ParsedNode): XmlElement | undefined {
  const [name, content] = Object.entries(node)[0] ?? [];
  if (name === undefined || name.startsWith("#") || !Array.isArray(content)) return undefined;
  let text = "";
  const children: XmlElement[] = [];
  for (const child of content as readonly ParsedNode[]) {
    const part = child["#text"];
    if (typeof part === "string") text += decodeEntities(part);
    else if ("#cdata" in child) text += cdataOf(child["#cdata"]);
    else {
      const element = elementOf(child);
      if (element !== undefined) children.push(element);
    }
  }
  // Text beside elements is white space of an indented document.
  if (children.length > 0 && text.trim() !== "") throw malformed();
  return { name, text, children };
}

function cdataOf(content: unknown): string {
  const parts = Array.isArray(content) ? (content as readonly ParsedNode[]) : [];
  return parts.map(({ "#text": text }) => (typeof text === "string" ? text : "")).join("");
}

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }),
);

/** @throws S3Error `MalformedXML` for a reference that is none of XML's own */
function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(
    /&(?:(?<name>lt|gt|quot|apos|amp);|#(?<decimal>\d{1,7});|#x(?<hex>[0-9a-fA-F]{1,6});)?/gu,
    (reference: string, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES.get(name) ?? reference;
      const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      // Neither NUL nor half of a surrogate pair.
      const isCharacter = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
      if (!isCharacter) throw malformed();
      return String.fromCodePoint(point);
    },
  );
}

/**
 * The children by name.
 *
 * @param names each may be there once
 * @throws S3Error `MalformedXML` for another one, or one that is there twice: it may be a condition,
 *   or mean something else to another server
 */
export function childrenOf(
  element: XmlElement,
  names: readonly string[],
): ReadonlyMap<string, XmlElement> {
  const children = new Map<string, XmlElement>();
  for (const child of element.children) {
    if (!names.includes(child.name) || children.has(child.name)) throw malformed();
    children.set(child.name, child);
  }
  return children;
}

export function malformed(): S3Error {
  return new S3Error("MalformedXML");
}
