import { type Hashing, sha256, startSha256 } from "./hash.ts";
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

/** The address of a blob that arrives in a buffer. */
export interface ArrivingAddress {
  /** Is told how many bytes are there, as `onReceived` of `ReadCallOptions`, and hashes them. */
  readonly received: (length: number) => void;
  /** The address of the whole blob, which has so many bytes. */
  of(length: number): Address;
}

/** Fewer bytes are hashed with those that follow: each part costs a call. */
const PART_MIN = 2 ** 16;

/** Hashes a blob while it arrives at the beginning of a buffer, rather than all of it in the end. */
export function arrivingAddress(buffer: Uint8Array): ArrivingAddress {
  let hashing: Hashing | undefined;
  let hashed = 0;
  let reported = 0;
  const hashUpTo = (length: number): void => {
    hashing ??= startSha256();
    hashing.update(buffer.subarray(hashed, length));
    hashed = length;
  };
  return {
    received(length) {
      reported = length;
      if (length < hashed || length === 0) [hashing, hashed] = [undefined, 0];
      if (length - hashed >= PART_MIN) hashUpTo(length);
    },
    of(length) {
      // What came last was not reported, and may have replaced what was.
      if (hashing === undefined || length !== reported)
        return addressOf(buffer.subarray(0, length));
      hashUpTo(length);
      return toHex(hashing.digest()) as Address;
    },
  };
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
