/**
 * Characters that act on a terminal or deceive readers: controls (escape sequences begin with one),
 * bidirectional overrides, line separators, lone surrogates, and whatever takes no room, such as
 * zero-width characters. The variation selectors of emoji are harmless and common.
 */
const UNSAFE =
  /(?![\ufe00-\ufe0f])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** Most output matches these, which are faster to test than UNSAFE. */
const HARMLESS = /^[\n\u0020-\u007e]*$/u;
const HARMLESS_LINE = /^[\u0020-\u007e]*$/u;

/** The most characters of text that someone else wrote in one message. */
const FOREIGN_MAX = 500;

/** The longest message: others' text, and the words around it. */
const MESSAGE_MAX = 2 * FOREIGN_MAX;

/**
 * All or part of an identity, of this program or of age, also if its beginning is mistyped, a protected
 * key in armor, and the first line of a private key in PEM. Users may put them into the wrong argument.
 */
const IDENTITY =
  /(?<kind>idk-(?:writer-)?secret-key-1|age-secret-key-(?:pq-)?1|age-plugin-[a-z0-9+._]+-1)[0-9a-z]+|(?<mistyped>(?:i?dk|a?ge)[-_ ]?(?:writer[-_ ]?)?secret[-_ ]?key[-_ ]?(?:pq[-_ ]?)?[1il]?)[0-9a-z]{20,}|-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*|-----BEGIN IDK PROTECTED [A-Z ]+-----\s*[a-z0-9+/]{20,}.*/gisu;

/**
 * The data of a key in Bech32, whatever precedes it, unless it is a public key. Digits of an address
 * alone are not one.
 */
const KEY_DATA =
  /(?<![0-9A-Za-z])(?!(?:idk|IDK|writer|age[a-z]*)1)(?![0-9a-f]+(?![0-9A-Za-z]))(?:[A-Za-z]{0,20}1)?(?:[02-9AC-HJ-NP-Z]{50}|(?=[a-z]*\d)[02-9ac-hj-np-z]{50})[0-9A-Za-z]*/gu;

/** Escapes untrusted text into one line that is safe to print on a terminal. */
export function printable(text: string): string {
  return HARMLESS_LINE.test(text) ? text : text.replace(UNSAFE, escapeCharacter);
}

/** Escapes all but line ends. The last line of defence for everything that is printed. */
export function printableLines(text: string): string {
  if (HARMLESS.test(text)) return text;
  return text.replace(UNSAFE, (character) =>
    character === "\n" ? character : escapeCharacter(character),
  );
}

/**
 * Text that someone else wrote, such as a stored name or a server's message, as it may be part of a
 * message: one line, safe to print, without secrets, and of at most `max` characters.
 */
export function foreign(text: string, max: number = FOREIGN_MAX): string {
  const safe = printable(redact(text.slice(0, max + 1)));
  return safe.length <= max ? safe : `${beginning(safe, max)}…`;
}

/** A message as it is printed: one line, safe to print, without secrets, and not long. */
export function printableMessage(text: string): string {
  if (text.length <= MESSAGE_MAX) return printable(redact(text));
  // Redacted first: a part of a secret must not remain. The end says what to do.
  const safe = printable(redact(text));
  return `${beginning(safe, MESSAGE_MAX - FOREIGN_MAX)}…${safe.slice(1 - FOREIGN_MAX)}`;
}

/** Never ends with a part of an escape or of a character. */
function beginning(safe: string, length: number): string {
  return safe.slice(0, length).replace(/(?:\\u?[0-9a-f]{0,3}|\p{Cs})$/u, "");
}

/** Removes what looks like an identity. The last line of defence in every message. */
export function redact(text: string): string {
  return text
    .replace(IDENTITY, (_, kind?: string, mistyped?: string) => {
      const beginning = kind ?? mistyped;
      return beginning === undefined ? "(a private key)" : `${beginning.toUpperCase()}…`;
    })
    .replace(KEY_DATA, "(a private key)");
}

/** Whether a text contains what looks like an identity, and must not be printed. */
export function looksLikeIdentity(text: string): boolean {
  return text.search(IDENTITY) !== -1;
}

/** Whether a text contains what looks like an identity without its beginning. */
export function hasKeyData(text: string): boolean {
  return text.search(KEY_DATA) !== -1;
}

/**
 * JSON on one line. Byte strings become `{"hex": "…"}`. Characters that control a terminal are
 * escaped, which does not change the value.
 */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value, (_, item: unknown) =>
    item instanceof Uint8Array ? { hex: toHex(item) } : item,
  );
  return printable(json);
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** `1 blob`, `2 blobs`; `2 addresses`. */
export function count(amount: number, noun: string): string {
  const ending = noun.endsWith("s") ? "es" : "s";
  return `${amount} ${noun}${amount === 1 ? "" : ending}`;
}

export type Row = readonly [label: string, value: string];

/** Lines in two columns. */
export function aligned(rows: readonly Row[]): string[] {
  const width = Math.max(0, ...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}

/** As JSON does: by code units. */
function escapeCharacter(character: string): string {
  let escaped = "";
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}

/** All controls except tab and line ends. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/u;

/** Returns a check for consecutive pieces of content: whether it is text safe for a terminal. */
export function createTextCheck(): (piece: Uint8Array) => boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return (piece) => {
    try {
      return !CONTROL.test(decoder.decode(piece, { stream: true }));
    } catch {
      return false;
    }
  };
}

const NAMES = ["KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `20 MiB`, `1.4 GiB`: rounded for people. */
export function roundBytes(bytes: number): string {
  let rounded = bytes;
  let name = "bytes";
  for (const next of NAMES) {
    // Would round up to 1024: use the next unit.
    if (rounded < 1023.5) break;
    rounded /= 1024;
    name = next;
  }
  const digits = name === "bytes" || rounded >= 99.95 ? 0 : 1;
  return `${rounded.toFixed(digits)} ${name}`;
}

/** `20971520 bytes (20 MiB)`: exact for programs, rounded for people. */
export function formatBytes(bytes: number): string {
  const exact = `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  let rounded = bytes;
  let name = "";
  for (const next of NAMES) {
    if (rounded < 1024) break;
    rounded /= 1024;
    name = next;
  }
  if (name === "") return exact;
  return `${exact} (${Number.isInteger(rounded) ? rounded : rounded.toFixed(1)} ${name})`;
}
