/**
 * Characters that act on a terminal instead of showing: controls (escape sequences begin with
 * one), bidirectional overrides, line separators and lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The text of an identity, whole or in part: keys end up in the wrong argument. */
const IDENTITY = /idk-secret-key-1[0-9a-z]+/giu;

/** One line that is safe to show on a terminal, whoever wrote the text. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

/** Takes out what looks like an identity. The last line of defence of every message. */
export function redact(text: string): string {
  return text.replace(IDENTITY, "IDK-SECRET-KEY-1…");
}

/** Whether a text is one that must never be repeated. */
export function looksLikeIdentity(text: string): boolean {
  return text.search(IDENTITY) !== -1;
}

/**
 * JSON on one line. Byte strings become `{"hex": "…"}`; what could act on a terminal is escaped,
 * which leaves the value as it is.
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

/** Lines of two columns. */
export function aligned(rows: readonly Row[]): string[] {
  const width = Math.max(0, ...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
