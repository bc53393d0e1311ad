import { PREFIX_LENGTH, TAG_LENGTH } from "./limits.ts";
import { StorageError } from "../errors.ts";

/** "IDK" and version 1. The version byte is the format's only agility. */
const MAGIC = Uint8Array.of(0x49, 0x44, 0x4b, 0x01);

export interface Envelope {
  /** `blob[0 : 6+hlen]`: what the body key is bound to. */
  readonly prefix: Uint8Array;
  /** The encoded header, a view. */
  readonly header: Uint8Array;
  /** Tag and ciphertext, a view. */
  readonly body: Uint8Array;
}

/** Writes "IDK", version, header length and header at the front of `blob`. */
export function writePrefix(blob: Uint8Array, header: Uint8Array): void {
  blob.set(MAGIC);
  blob[4] = header.length >> 8;
  blob[5] = header.length & 0xff;
  blob.set(header, PREFIX_LENGTH);
}

/**
 * Splits a blob into views of its parts. The body is not looked at.
 *
 * @throws StorageError `format`
 */
export function splitEnvelope(blob: Uint8Array): Envelope {
  if (blob.length < PREFIX_LENGTH) throw malformed("it is too short");
  for (let i = 0; i < 3; i++) {
    if (blob[i] !== MAGIC[i]) throw malformed("it does not begin with IDK");
  }
  if (blob[3] !== MAGIC[3]) {
    throw malformed(`its version is ${blob[3]} and this program reads version 1`);
  }
  const end = PREFIX_LENGTH + ((blob[4]! << 8) | blob[5]!);
  if (end > blob.length) throw malformed("its header is cut off");
  if (end + TAG_LENGTH > blob.length) throw malformed("its body is cut off");
  return {
    prefix: blob.subarray(0, end),
    header: blob.subarray(PREFIX_LENGTH, end),
    body: blob.subarray(end),
  };
}

/** A `format` error about the envelope or header. */
export function malformed(why: string, cause?: unknown): StorageError {
  return new StorageError("format", `this is not an idk blob: ${why}`, { cause });
}
