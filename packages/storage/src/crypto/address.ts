import { sha256 } from "./hash.ts";
import { toHex } from "../bytes.ts";
import { usage } from "../errors.ts";

declare const brand: unique symbol;

/** The SHA-256 of a blob, as 64 lowercase hexadecimal digits. */
export type Address = string & { readonly [brand]: "Address" };

const FORM = /^[0-9a-f]{64}$/u;

/** The address of a blob's bytes. */
export function addressOf(blob: Uint8Array): Address {
  return toHex(sha256(blob)) as Address;
}

/**
 * Parses an address.
 *
 * @throws StorageError `usage`
 */
export function parseAddress(text: string): Address {
  if (typeof text === "string" && FORM.test(text)) return text as Address;
  throw usage("an address is 64 lowercase hexadecimal digits");
}
