import type { Address } from "@idk/storage";
import type { SessionId } from "../names/identifiers.ts";
import { ADDRESS_LENGTH, ROW_LENGTH, SALT_LENGTH, UUID_LENGTH } from "../limits.ts";
import { concat, fromHex, toHex } from "@idk/storage/blobs";

/** Where a pack is, and whose key opens it. It holds no key. */
export interface Row {
  readonly session: SessionId;
  readonly address: Address;
  /** 16 bytes. */
  readonly salt: Uint8Array;
}

/** Where the address begins in an encoded row. */
export const ADDRESS_AT: number = UUID_LENGTH;
const SALT_AT = ADDRESS_AT + ADDRESS_LENGTH;

/** A row as packs and snapshots have it, 64 bytes. */
export function encodeRow({ session, address, salt }: Row): Uint8Array<ArrayBuffer> {
  if (salt.length !== SALT_LENGTH) throw new RangeError(`a salt has ${SALT_LENGTH} bytes`);
  return concat(fromHex(session), fromHex(address), salt);
}

/**
 * What a row is known by in memory. An address alone is not enough: a malformed repository has one pack
 * under two rows, one of which does not open it.
 */
export function rowKey(row: Row): string {
  return toHex(encodeRow(row));
}

/** Decodes 64 bytes. Every value is a row. */
export function decodeRow(bytes: Uint8Array): Row {
  if (bytes.length !== ROW_LENGTH) throw new RangeError(`a row has ${ROW_LENGTH} bytes`);
  return {
    session: toHex(bytes.subarray(0, ADDRESS_AT)) as SessionId,
    address: toHex(bytes.subarray(ADDRESS_AT, SALT_AT)) as Address,
    salt: bytes.subarray(SALT_AT),
  };
}
