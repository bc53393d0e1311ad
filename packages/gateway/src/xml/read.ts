import { S3Error } from "../errors.ts";

/** An element of a body that a client sent. */
export interface XmlElement {
  readonly name: string;
  /** Decoded, not trimmed. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/**
 * The longest body has 10,000 parts of eight elements each, and two quotation marks in each. The deepest
 * has four levels.
 */
const MAX_ELEMENTS = 81_000;
const MAX_REFERENCES = 250_000;
const MAX_DEPTH = 8;
/** The most characters of a tag, and attributes in all: only the root has one, its namespace. */
const MAX_TAG_LENGTH = 1024;
const MAX_ATTRIBUTES = 16;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** An element that may get more children. */
interface OpenElement {
  readonly name: string;
  text: string;
  readonly children: XmlElement[];
}

/** `<name a="b">` or `<name/>`. Every character is looked at once. */
const TAG =
  /^<([A-Za-z_][\w:.-]*)((?:\s+[A-Za-z_][\w:.-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/u;
const END_TAG = /^<\/([A-Za-z_][\w:.-]*)\s*>/u;

/**
 * Parses a body of XML, in one pass: the bodies of S3 are elements with text, and parsers of all of XML
 * take so long for one that is made for it that nobody else would be served. The length of the body is
 * the caller's to limit.
 *
 * @param root the name that its root element must have
 * @param maxElements refused as soon as there are more
 * @throws S3Error `MalformedXML`, also for a document type, which no body of S3 has, and which alone
 *   can define entities; for instructions; for too much markup; and for elements nested too deeply
 */
export function parseXml(
  body: Uint8Array,
  root: string,
  maxElements: number = MAX_ELEMENTS,
): XmlElement {
  const text = decode(body);
  const open: OpenElement[] = [];
  let result: XmlElement | undefined;
  let elements = 0;
  let attributes = 0;
  const references = { left: MAX_REFERENCES };
  for (let at = afterDeclaration(text); at < text.length;) {
    const top = open.at(-1);
    const next = text.indexOf("<", at);
    const end = next === -1 ? text.length : next;
    if (end > at) {
      const between = text.slice(at, end);
      if (top === undefined) requireBlank(between);
      else top.text += decodeEntities(between, references);
      at = end;
      continue;
    }
    if (text.startsWith("<!--", at)) {
      at = endOf(text, "-->", at + 4);
    } else if (text.startsWith(CDATA, at)) {
      if (top === undefined) throw malformed();
      const past = endOf(text, "]]>", at);
      top.text += text.slice(at + CDATA.length, past - 3);
      at = past;
    } else if (text.startsWith("</", at)) {
      const [tag, name] = matchTag(END_TAG, text, at);
      if (top === undefined || name !== top.name) throw malformed();
      open.pop();
      const closed = closedElement(top);
      const parent = open.at(-1);
      if (parent === undefined) result = closed;
      else parent.children.push(closed);
      at += tag.length;
    } else {
      const [tag, name = "", given = "", slash] = matchTag(TAG, text, at);
      elements += 1;
      attributes += given === "" ? 0 : given.split("=").length - 1;
      if (elements > maxElements || attributes > MAX_ATTRIBUTES) throw malformed();
      if (open.length >= MAX_DEPTH) throw malformed();
      // The wrong root is refused before all that is in it.
      if (top === undefined && (result !== undefined || name !== root)) throw malformed();
      const element: OpenElement = { name, text: "", children: [] };
      if (slash !== "/") open.push(element);
      else if (top === undefined) result = element;
      else top.children.push(element);
      at += tag.length;
    }
  }
  if (open.length > 0 || result === undefined) throw malformed();
  return result;
}

const CDATA = "<![CDATA[";

function decode(body: Uint8Array): string {
  try {
    return decoder.decode(body).trim();
  } catch {
    throw malformed();
  }
}

function afterDeclaration(text: string): number {
  return /^<\?xml\s/u.test(text) ? endOf(text, "?>", 0) : 0;
}

/** The position after a mark. */
function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  if (found === -1) throw malformed();
  return found + mark.length;
}

/** No more is looked at than a tag may have, or else long ones would take all of the processor's time. */
function matchTag(pattern: RegExp, text: string, at: number): readonly [string, ...string[]] {
  const match = pattern.exec(text.slice(at, at + MAX_TAG_LENGTH));
  if (match === null) throw malformed();
  return match as unknown as readonly [string, ...string[]];
}

function requireBlank(text: string): void {
  if (text.trim() !== "") throw malformed();
}

/** Text beside elements is white space of an indented document. */
function closedElement({ name, text, children }: OpenElement): XmlElement {
  if (children.length > 0) requireBlank(text);
  return { name, text, children };
}

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }),
);

/** @throws S3Error `MalformedXML` for a reference that is none of XML's own, or too many */
function decodeEntities(text: string, references: { left: number }): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(
    /&(?:(?<name>lt|gt|quot|apos|amp);|#(?<decimal>\d{1,7});|#x(?<hex>[0-9a-fA-F]{1,6});)?/gu,
    (reference: string, name?: string, decimal?: string, hex?: string) => {
      references.left -= 1;
      if (references.left < 0) throw malformed();
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
