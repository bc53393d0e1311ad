import { ADDRESS_LENGTH } from "../limits.ts";
import type { Address } from "@idk/storage";
import { fromHex } from "@idk/storage/blobs";
import { malformed } from "../checks.ts";

/**
 * Addresses of packs, 32 bytes each, one after the other, strictly ascending. Kept as bytes, because
 * there may be millions.
 */
export type AddressList = Uint8Array;

export const NO_ADDRESSES: AddressList = new Uint8Array(0);

/** Checks that bytes are an address list. */
export function checkAddressList(list: Uint8Array, what: string): void {
  if (list.length % ADDRESS_LENGTH !== 0) throw malformed(`${what} are not whole addresses`);
  for (let at = ADDRESS_LENGTH; at < list.length; at += ADDRESS_LENGTH) {
    if (compareAt(list, at - ADDRESS_LENGTH, list, at) >= 0) {
      throw malformed(`${what} are not in ascending order`);
    }
  }
}

/** Compares the addresses at two offsets. Nearly always they differ in their first bytes. */
export function compareAt(a: AddressList, aStart: number, b: AddressList, bStart: number): number {
  for (let i = 0; i < ADDRESS_LENGTH; i++) {
    const difference = a[aStart + i]! - b[bStart + i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The addresses in text, sorted and without duplicates. */
export function addressList(addresses: Iterable<Address>): AddressList {
  const sorted = [...new Set(addresses)].toSorted();
  const list = new Uint8Array(sorted.length * ADDRESS_LENGTH);
  for (const [i, address] of sorted.entries()) list.set(fromHex(address), i * ADDRESS_LENGTH);
  return list;
}

/** How many addresses a list has. */
export function countOf(list: AddressList): number {
  return list.length / ADDRESS_LENGTH;
}

/** Every address of one list or the other. */
export function union(a: AddressList, b: AddressList): AddressList {
  return merged(a, b, a.length + b.length, true);
}

/** Every address of the first list that the second does not have. */
export function difference(a: AddressList, b: AddressList): AddressList {
  return merged(a, b, a.length, false);
}

/** Walks two lists at once, in one pass and with memory for the result alone. */
function merged(
  a: AddressList,
  b: AddressList,
  lengthMax: number,
  keepsSecond: boolean,
): AddressList {
  if (b.length === 0) return a;
  const into = new Uint8Array(lengthMax);
  let [i, j, end] = [0, 0, 0];
  const take = (list: AddressList, at: number) => {
    for (let k = 0; k < ADDRESS_LENGTH; k++) into[end + k] = list[at + k]!;
    end += ADDRESS_LENGTH;
  };
  while (i < a.length) {
    const order = j < b.length ? compareAt(a, i, b, j) : -1;
    if (order < 0) {
      take(a, i);
      i += ADDRESS_LENGTH;
    } else {
      if (keepsSecond) take(b, j);
      if (order === 0) i += ADDRESS_LENGTH;
      j += ADDRESS_LENGTH;
    }
  }
  if (keepsSecond) {
    into.set(b.subarray(j), end);
    end += b.length - j;
  }
  return into.subarray(0, end);
}

/** Whether a list has an address, by bisection. */
export function hasAddress(list: AddressList, address: Uint8Array): boolean {
  let low = 0;
  let high = countOf(list);
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareAt(list, middle * ADDRESS_LENGTH, address, 0);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}
