import { MASK } from "../rules/actions.ts";
import type { Span } from "./spans.ts";

/** Undoes percent-encoding; undefined if it is malformed. */
export function decoded(text: string): string | undefined {
  if (!/[%+]/u.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Leaves what we write ourselves readable: `***` and `hash:…`. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("%3A", ":");
}

/** What is between the delimiters of URLs, and of URLs in text. */
const PARTS = /[^\s"#&<=>?`]+/gu;

const ENCODED = /%[\da-f]{2}/iu;
/** Beside `%XX`, only a space in a card number matters. */
const ENCODED_OR_PLUS = /%[\da-f]{2}|\d\+\d/iu;

/** How many times a part may be encoded; what is encoded more often is masked. */
const DECODED_MAX = 4;

/**
 * Parts of a text whose decoded form has secrets.
 *
 * @param decodings how many times the text was decoded before
 * @param redact redacts decoded text
 */
export function encodedSpans(
  text: string,
  isCut: boolean,
  decodings: number,
  redact: (text: string, isCut: boolean) => string,
): Span[] {
  const spans: Span[] = [];
  if (!ENCODED_OR_PLUS.test(text)) return spans;
  for (const { 0: part, index } of text.matchAll(PARTS)) {
    if (!ENCODED_OR_PLUS.test(part)) continue;
    const end = index + part.length;
    if (decodings >= DECODED_MAX) {
      if (ENCODED.test(part)) spans.push({ start: index, end, text: MASK });
      continue;
    }
    const isPartCut = isCut && end === text.length;
    // The cut may have ended a sequence such as `%41` in the middle.
    const plain = decodedParts(isPartCut ? part.replace(/%[\da-f]?$/iu, "") : part);
    const redacted = redact(plain, isPartCut);
    if (redacted === plain) continue;
    const by = part.includes("/") ? encodeURI(redacted.toWellFormed()) : encoded(redacted);
    spans.push({ start: index, end, text: by });
  }
  return spans;
}

/** Undoes percent-encoding where there is one, and leaves the rest. */
function decodedParts(text: string): string {
  return text
    .replaceAll("+", " ")
    .replaceAll(/(?:%[\da-f]{2})+/giu, (run) =>
      Buffer.from(run.replaceAll("%", ""), "hex").toString(),
    );
}
