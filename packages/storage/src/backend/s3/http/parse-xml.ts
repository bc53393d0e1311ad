/** To be imported when needed, so that programs that list nothing do not load the parser. */
import { Parser } from "htmlparser2";
import { hasTooMuchMarkup, type XmlElement } from "./xml.ts";

/** Listings have four levels. */
const MAX_DEPTH = 16;

/** An element whose end has not been read. */
interface OpenElement {
  readonly name: string;
  text: string;
  readonly children: XmlElement[];
}

/** Entities are decoded in `textOf`. */
const PARSER_OPTIONS = { xmlMode: true, decodeEntities: false };

/**
 * Parses a document and returns its root element, or undefined if an element does not end, if there is
 * not one root, or if there is text beside it. End tags of elements that did not begin are ignored. An empty
 * document counts as an empty root. A document type is rejected: no response of an S3 server has
 * one, and only a document type can define entities. So is one with too much markup.
 */
export function parseXml(text: string): XmlElement | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return { name: "", text: "", children: [] };
  if (trimmed.includes("<!D") || hasTooMuchMarkup(trimmed)) return undefined;
  const roots: XmlElement[] = [];
  const open: OpenElement[] = [];
  /** Where their tags begin. */
  const starts: number[] = [];
  let isWellFormed = true;
  const parser = new Parser(
    {
      onopentagname(name) {
        const element: OpenElement = { name, text: "", children: [] };
        (open.at(-1)?.children ?? roots).push(element);
        open.push(element);
        starts.push(parser.startIndex);
        if (open.length <= MAX_DEPTH) return;
        isWellFormed = false;
        parser.pause();
      },
      ontext(data) {
        const element = open.at(-1);
        if (element !== undefined) element.text += data;
        else if (data.trim() !== "") isWellFormed = false;
      },
      onclosetag(_, isImplied) {
        open.pop();
        // By its own tag, as in `<a/>`, or else by that of another one, or by the end of the document.
        if (starts.pop() !== parser.startIndex && isImplied) isWellFormed = false;
      },
    },
    PARSER_OPTIONS,
  );
  parser.end(trimmed);
  // Of a root that is cut off within its tag, the parser reports what it does of an empty one.
  const isComplete = isWellFormed && roots.length === 1 && trimmed.endsWith(">");
  return isComplete ? roots[0] : undefined;
}
