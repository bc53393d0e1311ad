import type { Address } from "@idk/storage";
import type { CborItem } from "@idk/storage/blobs";
import { ADDRESS_LENGTH, CHAIN_LENGTH, UUID_LENGTH } from "../limits.ts";
import { byteString } from "../checks.ts";
import { toHex } from "@idk/storage/blobs";

declare const brand: unique symbol;

/** A repository's uuid, 16 random bytes as 32 lowercase hexadecimal digits. */
export type RepositoryId = string & { readonly [brand]: "RepositoryId" };

/** A session's uuid, 16 random bytes as 32 lowercase hexadecimal digits. */
export type SessionId = string & { readonly [brand]: "SessionId" };

/** A chain, 16 bytes as 32 lowercase hexadecimal digits. */
export type ChainId = string & { readonly [brand]: "ChainId" };

const SIXTEEN_BYTES = /^[0-9a-f]{32}$/u;

/** Whether text is the form of 16 bytes: 32 lowercase hexadecimal digits. */
export function isSixteenBytes(text: string): boolean {
  return SIXTEEN_BYTES.test(text);
}

export function repositoryId(item: CborItem | undefined, what: string): RepositoryId {
  return toHex(byteString(item, what, UUID_LENGTH)) as RepositoryId;
}

export function chainId(item: CborItem | undefined, what: string): ChainId {
  return toHex(byteString(item, what, CHAIN_LENGTH)) as ChainId;
}

export function address(item: CborItem | undefined, what: string): Address {
  return toHex(byteString(item, what, ADDRESS_LENGTH)) as Address;
}
