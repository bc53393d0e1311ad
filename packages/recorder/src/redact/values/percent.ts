import type { Work } from "../contract.ts";
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

/** Whether a text may have secrets only in its decoded form. */
export function isEncoded(text: string): boolean {
  return ENCODED_OR_PLUS.test(text);
}

/** How many times a part may be encoded; what is encoded more often is masked. */
const DECODED_MAX = 4;

/**
 * Parts of a text whose decoded form has secrets.
 *
 * @param decodings how many times the text was decoded before
 * @param redact redacts decoded text
 */
export function* encodedSpans(
  text: string,
  isCut: boolean,
  decodings: number,
  redact: (text: string, isCut: boolean) => Work<string>,
): Work<Span[]> {
  const spans: Span[] = [];
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
    const redacted = yield* redact(plain, isPartCut);
    yield;
    if (redacted === plain) continue;
    const by = part.includes("/") ? encodeURI(redacted.toWellFormed()) : encoded(redacted);
    spans.push({ start: index, end, text: by });
  }
  return spans;
}

const PERCENT = 0x25;
const PLUS = 0x2b;

/** Undoes percent-encoding where there is one, and leaves the rest. */
function decodedParts(text: string): string {
  // No regular expression, because there may be a sequence in every third character.
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    const encodedByte =
      byte === PERCENT ? hexValue(bytes[at + 1]) * 16 + hexValue(bytes[at + 2]) : NaN;
    if (!Number.isNaN(encodedByte)) at += 2;
    bytes[length] = byte === PLUS ? 0x20 : Number.isNaN(encodedByte) ? byte : encodedByte;
    length += 1;
  }
  return bytes.toString("utf8", 0, length);
}

/** The value of a hexadecimal digit; NaN for any other byte. */
function hexValue(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : NaN;
}
