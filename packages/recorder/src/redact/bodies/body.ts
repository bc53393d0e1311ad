import type { BodyOmission, RecordedBody } from "../../record/exchange.ts";
import type { CapturedBody, Work } from "../contract.ts";
import { redactJson } from "../json/redact-json.ts";
import { wholeCharacters } from "../json/tokens.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { redactParameters } from "../values/parameters.ts";
import { decodeContent, type DecodedBody } from "./decode.ts";
import { redactEvents, redactJsonLines } from "./lines.ts";
import { type BodyKind, isInRanges, mediaTypeOf } from "./media-type.ts";
import { redactPlainText } from "./plain-text.ts";

/** Bytes of bodies that take one step with what is done before and after they are redacted. */
const STEP = 4096;

/** What limits bodies, besides rules. */
export interface BodyOptions {
  readonly binaryTypes: readonly string[];
  readonly maxDecodedBytes: number;
}

/**
 * Redacts a body, or leaves it out: only what was understood as its type says is kept.
 */
export function* redactBody(
  body: CapturedBody,
  rules: RuleSet,
  { binaryTypes, maxDecodedBytes }: BodyOptions,
): Work<RecordedBody> {
  const { bytes, cut: isCut, encoding, size, type } = body;
  const media = type === undefined ? undefined : mediaTypeOf(type, rules);
  const about = media === undefined ? { size } : { size, type: media.shown };
  const omitted = (why: BodyOmission): RecordedBody => ({ ...about, why });

  if (bytes.length === 0 && !isCut) return { ...about, text: "" };
  if (maxDecodedBytes === 0) return omitted("limit");
  if (media === undefined) return omitted("type");
  const { charset, essence, kind } = media;
  if (essence.startsWith("multipart/")) return omitted("multipart");
  const isBinary = isInRanges(essence, binaryTypes);
  if (kind === undefined && !isBinary) return omitted("type");

  const decoded = yield* decodeContent(bytes, isCut, encoding, maxDecodedBytes);
  if (decoded === undefined) return omitted("encoding");
  const cut = decoded.isCut && ({ cut: true } as const);
  if (kind === undefined) return { ...about, base64: decoded.bytes.toString("base64"), ...cut };
  const unicode = inUtf8(decoded, kind, charset);
  if (unicode === undefined) return omitted("encoding");
  if (unicode.bytes.length > STEP) yield;
  const redacted = yield* redactContent(unicode, kind, rules);
  if ("why" in redacted) return omitted(redacted.why);
  const { text } = redacted;
  return decoded.isCut ? { ...about, text, cut: true } : { size, type: media.shown, text };
}

type Redacted = { readonly text: string } | { readonly why: BodyOmission };

function* redactContent(body: DecodedBody, kind: BodyKind, rules: RuleSet): Work<Redacted> {
  const { bytes, isCut } = body;
  if (kind === "json") return yield* redactWholeJson(bytes, isCut, rules);
  if (kind === "json-lines") {
    const lines = yield* redactJsonLines(bytes, isCut, rules);
    return lines === undefined ? { why: "broken" } : textOf(lines);
  }
  // Clients send JSON as other types, too.
  if (isJsonLike(bytes)) {
    const redacted = yield* redactWholeJson(bytes, isCut, rules);
    if ("text" in redacted || redacted.why !== "broken") return redacted;
    if (kind === "form") return redacted;
    // Whoever wrote it may have truncated it.
    const beginning = yield* redactWholeJson(bytes, true, rules);
    if ("text" in beginning || beginning.why !== "broken") return beginning;
  }
  const decoded = textOf(bytes);
  if ("why" in decoded) return decoded;
  const { text } = decoded;
  // No text has zeros, but one in UTF-16 that does not say so.
  if (text.includes("\0")) return { why: "encoding" };
  if (kind === "form") return { text: yield* redactParameters(text, isCut, rules) };
  if (kind === "events") return { text: yield* redactEvents(text, isCut, rules) };
  return { text: yield* redactPlainText(text, isCut, rules) };
}

function* redactWholeJson(bytes: Buffer, isCut: boolean, rules: RuleSet): Work<Redacted> {
  const redacted = yield* redactJson(bytes, isCut, rules);
  if (redacted === "dropped") return { why: "rule" };
  if (redacted === "broken") return { why: "broken" };
  if (bytes.length > STEP) yield;
  return textOf(redacted);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Fails for bytes that are not UTF-8, wherever they are. */
function textOf(bytes: Uint8Array): Redacted {
  try {
    return { text: utf8.decode(bytes) };
  } catch {
    return { why: "encoding" };
  }
}

const UTF8 = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

/** @returns undefined if the charset is unknown, or the bytes do not fit it */
function inUtf8(
  { bytes, isCut }: DecodedBody,
  kind: BodyKind,
  charset = "utf-8",
): DecodedBody | undefined {
  if (UTF8.has(charset)) {
    const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    if (!isMarked && !isCut) return { bytes, isCut };
    const end = isCut ? wholeCharacters(bytes, 0, bytes.length) : bytes.length;
    return { bytes: bytes.subarray(isMarked ? 3 : 0, end), isCut };
  }
  try {
    const decoder = new TextDecoder(charset, { fatal: true });
    // Any bytes are UTF-16. Only JSON shows that they were meant as such, and not as ASCII.
    const isJson = kind === "json" || kind === "json-lines";
    if (decoder.encoding.startsWith("utf-16") && !isJson) return undefined;
    // With `stream`, a character that the cut ended is left out.
    return { bytes: Buffer.from(decoder.decode(bytes, { stream: isCut })), isCut };
  } catch {
    return undefined;
  }
}

function isJsonLike(bytes: Buffer): boolean {
  return /^\s*[{["]/u.test(bytes.toString("latin1", 0, 64));
}
