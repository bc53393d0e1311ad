import { base64 } from "@scure/base";
import { utf8 } from "../bytes.ts";
import { malformedKey } from "./key-text.ts";

/*
 * Armor: binary data as lines of text, in the strict form of RFC 7468. Data has exactly one armor, apart
 * from how lines end and from white space around it.
 */

/** Base64 characters of a full line. */
const COLUMNS = 64;

const BEGIN = "-----BEGIN ";
const WHITE_SPACE = /^[ \t\r\n]*/u;
/** Also after a byte order mark, which a reader has to reject. */
const BEGIN_LINE = /^(?:\u00ef\u00bb\u00bf)?[ \t]*-----BEGIN /mu;
const BODY_LINE = /^[A-Za-z0-9+/]+={0,2}$/u;

/** @param label names what the data is, such as `IDK PROTECTED IDENTITY` */
export function armor(label: string, data: Uint8Array): Uint8Array {
  const body = base64.encode(data).match(/.{1,64}/gu) ?? [];
  return utf8([beginOf(label), ...body, endOf(label), ""].join("\n"));
}

/** Whether the first line of a file, after white space, begins armor with this label. */
export function isArmored(label: string, bytes: Uint8Array): boolean {
  const [first] = linesOf(asText(bytes).replace(WHITE_SPACE, ""));
  return first === beginOf(label);
}

/** Whether any line begins armor, with whatever label. If not the first, `dearmor` says what is wrong. */
export function hasArmor(bytes: Uint8Array): boolean {
  return BEGIN_LINE.test(asText(bytes));
}

/**
 * The data in armor with this label.
 *
 * @throws StorageError `key`, with the number of the line that is wrong, never its text
 */
export function dearmor(label: string, bytes: Uint8Array): Uint8Array {
  const text = asText(bytes);
  const [before = ""] = WHITE_SPACE.exec(text) ?? [];
  const lines = linesOf(text.slice(before.length).replace(/[ \t\r\n]*$/u, ""));
  const numberOf = (index: number) => linesOf(before).length + index;

  const [first = ""] = lines;
  if (!first.startsWith(BEGIN)) {
    throw malformedKey(`line ${numberOf(0)}: only white space may precede ${beginOf(label)}`);
  }
  if (first !== beginOf(label)) {
    throw malformedKey(`line ${numberOf(0)} must be ${beginOf(label)}, with nothing else on it`);
  }
  const end = lines.indexOf(endOf(label));
  if (end === -1) throw malformedKey(`the line ${endOf(label)} is missing`);
  if (end !== lines.length - 1) {
    throw malformedKey(`line ${numberOf(end + 1)}: only white space may follow ${endOf(label)}`);
  }

  const body = lines.slice(1, end);
  for (const [index, line] of body.entries()) {
    const number = numberOf(index + 1);
    if (!BODY_LINE.test(line)) throw malformedKey(`line ${number} is not Base64`);
    const isLast = index === body.length - 1;
    if (line.length > COLUMNS || (!isLast && line.length < COLUMNS)) {
      throw malformedKey(
        `line ${number} has ${line.length} characters; all lines but the last have ${COLUMNS}`,
      );
    }
  }
  try {
    return base64.decode(body.join(""));
  } catch {
    throw malformedKey("the Base64 is incomplete or not canonical");
  }
}

function beginOf(label: string): string {
  return `${BEGIN}${label}-----`;
}

function endOf(label: string): string {
  return `-----END ${label}-----`;
}

/** One character for each byte, so that a byte order mark is not removed. */
function asText(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/u);
}
