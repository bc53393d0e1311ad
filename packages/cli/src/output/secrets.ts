import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { looksLikeIdentity } from "./text.ts";

/*
 * Users paste secrets where files, addresses or names belong. What looks like one is not repeated in
 * messages, which end up in logs.
 */

/** Digits of a 32-byte secret, such as a dedup secret. An address has the same form. */
const HEX = /^[0-9a-f]{64}$/iu;

/** Keys of object stores, 32-byte secrets and lines of PEM files in Base64, and many tokens. */
const BASE64 = /^[A-Za-z0-9+/_-]{40,}={0,2}$/u;

/** An application key of B2. */
const B2_KEY = /^K\d{3}[A-Za-z0-9+/]{27}$/u;

/** What else precedes a secret on a command line. */
const FLAG = /^-{1,2}(?:[a-z-]*=)?/u;

/** Whether a text, the value of a flag, or a part of `ID:SECRET` looks like a key or a secret. */
export function looksLikeSecret(text: string): boolean {
  const value = text.trim().replace(FLAG, "");
  const parts = value.includes("://") ? [value] : value.split(":");
  return looksLikeIdentity(text) || parts.some(isSecretForm);
}

function isSecretForm(text: string): boolean {
  if (HEX.test(text) || B2_KEY.test(text)) return true;
  // Words and paths rarely have all three.
  return BASE64.test(text) && [/[A-Z]/u, /[a-z]/u, /\d/u].every((kind) => kind.test(text));
}

/** Whether a text given as a path looks like a secret, and there is neither a file nor its folder. */
export function isSecretNotPath(text: string): boolean {
  if (!looksLikeSecret(text)) return false;
  const folder = dirname(text);
  return !existsSync(text) && (folder === "." || folder === "/" || !existsSync(folder));
}

/** A word of the command line in quotes, for messages. */
export function quotedWord(word: string): string {
  return looksLikeSecret(word) ? "'…', which looks like a secret key" : `'${word}'`;
}
