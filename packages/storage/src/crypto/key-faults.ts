import { bech32 } from "@scure/base";
import { KEY_LENGTH } from "../format/limits.ts";

/** Keys and names of other tools, by their beginnings or forms. */
const FOREIGN: readonly (readonly [form: RegExp, name: string])[] = [
  [/^age1/iu, "an age recipient"],
  [/^age-(?:secret-key|plugin)-/iu, "an age identity"],
  [/^(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-\S+|sk-(?:ssh|ecdsa)-\S+)(?:\s|$)/u, "an SSH key"],
  [/^-----BEGIN PGP /u, "a PGP key"],
  [/^-----BEGIN /u, "a key in PEM, such as an SSH key"],
  [/^SHA256:/u, "the fingerprint of an SSH key"],
  [/^(?:0x)?(?:[0-9a-f]{4}\s*){10}$/iu, "the fingerprint of a PGP key"],
  [/^(?:github:|gh:|@|https:\/\/github\.com\/)/iu, "a GitHub name (GitHub has SSH keys)"],
  [/^[^\s@]+@[^\s@]+\.[a-z]+$/iu, "an e-mail address"],
];

/** The characters of Bech32 after its prefix: all letters and digits but 1, b, i and o. */
const CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/** 32 bytes in groups of 5 bits, and the checksum. */
const DATA_LENGTH: number = Math.ceil((KEY_LENGTH * 8) / 5) + 6;

/**
 * What is wrong with a text that is not a key, to follow the kind of key in a message. Never repeats
 * the text, which may be secret.
 *
 * @param prefix the prefix of the kind of key that was expected, in lower case
 */
export function keyFault(text: string, prefix: string): string {
  const isSecret = prefix.includes("secret");
  const beginning = `${isSecret ? prefix.toUpperCase() : prefix}1`;
  const foreign = FOREIGN.find(([form]) => form.test(text.trim()))?.[1];
  if (foreign !== undefined) {
    const use = prefix === "idk" ? "encrypt to" : "use";
    const remedy = isSecret ? "" : `; ask its owner for one that begins with ${beginning}`;
    return ` but ${foreign}, which idk cannot ${use}${remedy}`;
  }
  const lower = text.toLowerCase();
  if (!lower.startsWith(`${prefix}1`)) return `: it does not begin with ${beginning}`;
  if (text !== lower && text !== text.toUpperCase()) return ": it mixes upper and lower case";
  const length = prefix.length + 1 + DATA_LENGTH;
  if (text.length !== length) {
    return `: it has ${text.length} characters instead of ${length}; copy it again`;
  }
  const data = lower.slice(-DATA_LENGTH);
  const at = (index: number): number => length - DATA_LENGTH + index + 1;
  const impossible = Array.from(data).findIndex((char) => !CHARSET.includes(char));
  if (impossible !== -1) return `: character ${at(impossible)} is wrong; 1, b, i and o never occur`;
  const wrong = wrongCharacter((changed) => isValid(`${prefix}1${changed}`), data);
  const place = wrong === undefined ? "copy it again" : `check character ${at(wrong)}`;
  return `: its checksum does not match; ${place}`;
}

/**
 * The index of the only character that is wrong, or of the first of two that are swapped. By trying
 * all, because the checksum detects errors without locating them.
 */
function wrongCharacter(valid: (changed: string) => boolean, data: string): number | undefined {
  for (let index = 0; index < data.length; index++) {
    const [before, after] = [data.slice(0, index), data.slice(index + 1)];
    if (Array.from(CHARSET).some((char) => valid(before + char + after))) return index;
    if (valid(before + after.slice(0, 1) + data[index] + after.slice(1))) return index;
  }
  return undefined;
}

function isValid(text: string): boolean {
  const decoded = bech32.decodeUnsafe(text);
  return decoded !== undefined && bech32.fromWordsUnsafe(decoded.words)?.length === KEY_LENGTH;
}
