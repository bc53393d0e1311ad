import {
  HASH_LENGTH,
  KEY_LENGTH,
  PREAMBLE_LENGTH,
  RECIPIENTS_MAX,
  ROOT_BLOB_MAX,
  SLOT_LENGTH,
  TAG_LENGTH,
} from "./limits.ts";
import { StorageError } from "../errors.ts";
import { type CborMap, decodeCbor, encodeCbor } from "./cbor.ts";

/** "IDK" and version 1. Only the version byte can change between versions of the format. */
const MAGIC = Uint8Array.of(0x49, 0x44, 0x4b, 0x01);

export interface Envelope {
  /** Preamble and header, which the body key is bound to; a view. */
  readonly prefix: Uint8Array;
  /** The encoded header, a view. */
  readonly header: Uint8Array;
  /** Tag and ciphertext, a view. */
  readonly body: Uint8Array;
}

/** Writes the preamble ("IDK", version, header length) and the header to the start of `blob`. */
export function writePrefix(blob: Uint8Array, header: Uint8Array): void {
  blob.set(MAGIC);
  blob[4] = header.length >> 8;
  blob[5] = header.length & 0xff;
  blob.set(header, PREAMBLE_LENGTH);
}

/**
 * Splits a blob into views of its parts. Does not check the body.
 *
 * @throws StorageError `format`
 */
export function splitEnvelope(blob: Uint8Array): Envelope {
  if (blob.length < PREAMBLE_LENGTH) throw malformed("it is too short");
  for (let i = 0; i < 3; i++) {
    if (blob[i] !== MAGIC[i]) throw malformed("it does not start with IDK");
  }
  if (blob[3] !== MAGIC[3]) {
    throw malformed(`its version is ${blob[3]} and this program reads version 1`);
  }
  const end = PREAMBLE_LENGTH + ((blob[4]! << 8) | blob[5]!);
  if (end > blob.length) throw malformed("its header is cut off");
  if (end + TAG_LENGTH > blob.length) throw malformed("its body is cut off");
  return {
    prefix: blob.subarray(0, end),
    header: blob.subarray(PREAMBLE_LENGTH, end),
    body: blob.subarray(end),
  };
}

/** A `format` error for a malformed envelope or header. */
export function malformed(why: string, cause?: unknown): StorageError {
  return new StorageError("format", `this is not an idk blob: ${why}`, { cause });
}

/** The header of a leaf or node: the commitment to its content key. */
export interface ChildHeader {
  readonly commitment: Uint8Array;
}

/** The header of a root, which also has what recipients need to open it. */
export interface RootHeader {
  readonly commitment: Uint8Array;
  /** The ephemeral public key, 32 bytes. */
  readonly ephemeral: Uint8Array;
  /** One wrapped content key per recipient, 48 bytes each, 1 to 1024 of them. */
  readonly slots: readonly Uint8Array[];
}

export function encodeChildHeader(header: ChildHeader): Uint8Array {
  return encodeCbor(new Map([["c", header.commitment]]));
}

/** Encodes the header of a root as canonical CBOR. The lengths of its fields are not checked. */
export function encodeRootHeader(header: RootHeader): Uint8Array {
  const wrapped = new Uint8Array(header.slots.length * SLOT_LENGTH);
  for (const [i, slot] of header.slots.entries()) wrapped.set(slot, i * SLOT_LENGTH);
  return encodeCbor(
    new Map([
      ["c", header.commitment],
      ["e", header.ephemeral],
      ["w", wrapped],
    ]),
  );
}

/** Bytes before a root's ciphertext: prefix and tag. */
export function rootOverhead(recipients: number): number {
  const wrapped = recipients * SLOT_LENGTH;
  const wrappedHead = wrapped < 256 ? 2 : 3;
  // The map's head, three one-letter keys, and two byte strings of 32 with heads of 2 bytes.
  const header = 1 + 3 * 2 + 2 * (2 + HASH_LENGTH) + wrappedHead + wrapped;
  return PREAMBLE_LENGTH + header + TAG_LENGTH;
}

/**
 * Decodes the header of a blob that must be a child.
 *
 * @throws StorageError `format`, also for the header of a root
 */
export function decodeChildHeader(bytes: Uint8Array): ChildHeader {
  const header = decodeHeader(bytes);
  if (header.ephemeral !== undefined) throw malformed("it is a root in place of a child");
  return header;
}

/**
 * Decodes the header of a blob that must be a root.
 *
 * @throws StorageError `format`, also for the header of a child
 */
export function decodeRootHeader(bytes: Uint8Array): RootHeader {
  const header = decodeHeader(bytes);
  if (header.ephemeral === undefined) {
    throw new StorageError(
      "format",
      "this is a child of a tree, not a root: give the address that put returned",
    );
  }
  return header;
}

/** Decodes the header of either kind. */
export function decodeHeader(
  bytes: Uint8Array,
): RootHeader | (ChildHeader & { readonly ephemeral?: undefined }) {
  let map: CborMap;
  try {
    map = decodeCbor(bytes);
  } catch (cause) {
    throw malformed("its header is not canonical", cause);
  }
  const commitment = bytesOf(map, "c", HASH_LENGTH);
  if (map.size === 1) return { commitment };
  const ephemeral = bytesOf(map, "e", KEY_LENGTH);
  const wrapped = bytesOf(map, "w");
  if (map.size !== 3) throw malformed("its header has an unknown entry");
  const count = wrapped.length / SLOT_LENGTH;
  if (!Number.isInteger(count) || count < 1 || count > RECIPIENTS_MAX) {
    throw malformed("its header does not hold 1 to 1024 wrapped keys");
  }
  const slots = Array.from({ length: count }, (_, i) =>
    wrapped.subarray(i * SLOT_LENGTH, (i + 1) * SLOT_LENGTH),
  );
  return { commitment, ephemeral, slots };
}

function bytesOf(map: CborMap, key: string, length?: number): Uint8Array {
  const value = map.get(key);
  if (!(value instanceof Uint8Array) || (length !== undefined && value.length !== length)) {
    throw malformed(`its header lacks a well-formed "${key}"`);
  }
  return value;
}

/** The kind and header of a blob, which can be read without a key. */
export type InspectedBlob =
  | { readonly kind: "root"; readonly header: RootHeader }
  | { readonly kind: "child"; readonly header: ChildHeader };

/**
 * Checks the envelope of a blob whose bytes match its name.
 *
 * @throws StorageError `format`, `limit`
 */
export function inspectBlob(address: string, blob: Uint8Array): InspectedBlob {
  const header = decodeHeader(splitEnvelope(blob).header);
  if (header.ephemeral === undefined) return { kind: "child", header };
  if (blob.length > ROOT_BLOB_MAX) {
    throw new StorageError("limit", `the root ${address} is too long`);
  }
  return { kind: "root", header };
}
