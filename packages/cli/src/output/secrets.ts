import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { hasKeyData, looksLikeIdentity } from "./text.ts";

/*
 * Users paste secrets where files, addresses or names belong. What looks like one is not repeated in
 * messages, which end up in logs.
 */

/** Digits of a secret of 32 bytes or more, such as a dedup secret. An address has the same form. */
const HEX = /^(?:0x)?(?:[0-9a-f]{2}){32,}$/iu;

/** Keys of object stores, 32-byte secrets and lines of PEM files in Base64, and many tokens. */
const BASE64 = /^[A-Za-z0-9+/_-]{40,}={0,2}$/u;

/** An application key of B2. */
const B2_KEY = /^K\d{3}[A-Za-z0-9+/]{27}$/u;

/** A JSON Web Token, with which one signs in. */
const TOKEN = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/u;

/** A URL with a user, parameters or a fragment: passwords and signatures are there. */
const URL_WITH_MORE = /^[a-z][a-z0-9+.-]*:\/\/.*[@?#]/isu;

/** What separates a secret from its name and its quotes, as in `NAME="SECRET"`. */
const SEPARATORS = /[\s:=,;"'`]+/u;

/** What else precedes a secret on a command line. */
const FLAG = /^-{1,2}(?:[a-z-]*=)?/u;

/**
 * Whether a text, the value of a flag, or a part of `ID:SECRET` or `NAME="SECRET"` looks like a key or
 * a secret, or is a URL that may contain one.
 */
export function looksLikeSecret(text: string): boolean {
  if (looksLikeIdentity(text) || hasKeyData(text) || mayHaveSecret(text)) return true;
  const value = text.trim().replace(FLAG, "");
  return !value.includes("://") && [value, ...value.split(SEPARATORS)].some(isSecretForm);
}

/** Whether a text, or the value of a flag, is a URL that may contain a password or a signature. */
export function mayHaveSecret(text: string): boolean {
  return URL_WITH_MORE.test(text.replace(/^[\s"']*/u, "").replace(FLAG, ""));
}

function isSecretForm(text: string): boolean {
  if ([HEX, B2_KEY, TOKEN].some((form) => form.test(text))) return true;
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
  if (mayHaveSecret(word)) return "'…', which is a URL";
  return looksLikeSecret(word) ? "'…', which looks like a secret key" : `'${word}'`;
}
