import { createHmac } from "node:crypto";

/** What happens to a covered value. */
export type Action =
  | { readonly kind: "drop" | "mask" | "hash" }
  | { readonly kind: "replace"; readonly text: string }
  /** The first characters stay. */
  | { readonly kind: "truncate"; readonly length: number };

/** Takes the place of what is masked. Valid in URLs, headers and JSON strings as it is. */
export const MASK = "***";

/** Marks where a text was truncated. */
const CUT = "…";

/** 128 bits are enough to tell values apart. */
const HASH_DIGITS = 32;

/** `hash:` and digits of the HMAC-SHA-256 of a text. */
export function hashedText(text: string, hashKey: Uint8Array): string {
  const digest = createHmac("sha256", hashKey).update(text).digest("hex");
  return `hash:${digest.slice(0, HASH_DIGITS)}`;
}

/** The first characters of a text. Never cuts one in two. */
export function truncatedText(text: string, length: number): string {
  // A character has at most two units.
  const kept = Array.from(text.slice(0, 2 * length))
    .slice(0, length)
    .join("");
  return kept.length < text.length ? kept + CUT : text;
}
