import { StorageError, usage } from "../errors.ts";
import { KEY_LENGTH } from "../format/limits.ts";
import { bech32 } from "@scure/base";
import { typeName } from "../bytes.ts";
import { keyFault } from "./key-faults.ts";

/** A key of 32 bytes as text: Bech32 (BIP 173) with this prefix, in lower case. */
export function encodeKey(prefix: string, key: Uint8Array): string {
  return bech32.encode(prefix, bech32.toWords(key), false);
}

/**
 * The 32 bytes of a key as text. Both cases are accepted, but not mixed.
 *
 * @param what names the kind of key for messages, such as "an identity (IDK-SECRET-KEY-1…)"
 * @throws StorageError `key`; the message does not repeat the text, which may be secret
 */
export function decodeKey(text: unknown, prefix: string, what: string): Uint8Array {
  if (typeof text !== "string") throw usage(`${what} must be text, got ${typeName(text)}`);
  // Not the error of `decodeToBytes`, because its message repeats the text.
  const decoded = bech32.decodeUnsafe(text);
  if (decoded !== undefined && decoded.prefix.startsWith("idk") && decoded.prefix !== prefix) {
    throw malformedKey(`this is not ${what} but another kind of key`);
  }
  const bytes = decoded?.prefix === prefix ? bech32.fromWordsUnsafe(decoded.words) : undefined;
  if (bytes?.length !== KEY_LENGTH) {
    throw malformedKey(`this is not ${what}${keyFault(text, prefix)}`);
  }
  return bytes;
}

export function malformedKey(message: string): StorageError {
  return new StorageError("key", message);
}
