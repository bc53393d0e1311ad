import { StorageError } from "../errors.ts";
import { malformed } from "./envelope.ts";
import { type CborMap, decodeCbor, encodeCbor } from "./cbor.ts";
import {
  HASH_LENGTH,
  KEY_LENGTH,
  PREFIX_LENGTH,
  RECIPIENTS_MAX,
  SLOT_LENGTH,
  TAG_LENGTH,
} from "./limits.ts";

/** The header of a leaf or node: the commitment to its content key. */
export interface ChildHeader {
  readonly commitment: Uint8Array;
}

/** The header of a root adds what the recipients need. */
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

/** What stands in front of a root's ciphertext: prefix, header and tag. */
export function rootOverhead(recipients: number): number {
  const wrapped = recipients * SLOT_LENGTH;
  const wrappedHead = wrapped < 256 ? 2 : 3;
  // A map's head, three keys of one letter, two byte strings of 32 with heads of two.
  const header = 1 + 3 * 2 + 2 * (2 + HASH_LENGTH) + wrappedHead + wrapped;
  return PREFIX_LENGTH + header + TAG_LENGTH;
}

/**
 * Reads the header of a blob met as a child.
 *
 * @throws StorageError `format`, also for the header of a root
 */
export function decodeChildHeader(bytes: Uint8Array): ChildHeader {
  const header = decodeHeader(bytes);
  if (header.ephemeral !== undefined) throw malformed("it is a root where a child belongs");
  return header;
}

/**
 * Reads the header of a blob met as a root.
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

/** Reads either header: what a keyless check can say of any blob. */
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
