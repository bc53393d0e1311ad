import {
  type AddressList,
  countOf,
  difference,
  hasAddress,
  union,
} from "../format/records/address-list.ts";
import type { Address } from "@idk/storage";
import { ADDRESS_LENGTH } from "../format/limits.ts";
import { fromHex, toHex } from "@idk/storage/blobs";
import { ALL_BLOBS, type BlobShard } from "./shard.ts";

/** A set of addresses that takes 32 bytes for each, for there may be millions. */
export interface AddressSet {
  add(address: Address): void;
  addList(list: AddressList): void;
  /** The addresses of a list that this set does not have. */
  missing(list: AddressList): AddressList;
  /** What it takes; at most about twice what its addresses have. */
  readonly bytes: number;
  /** @param address 32 bytes */
  has(address: Uint8Array): boolean;
  /** How many different ones there are, or are in a part of the store. */
  count(shard?: BlobShard): number;
}

/** Single addresses that are collected before they are sorted. */
const BATCH = 4096;

/**
 * Sorted runs, each at least twice as long as the one after it: whatever the addresses are, and others
 * choose them, adding and looking up take logarithmic time.
 */
export function addressSet(): AddressSet {
  let runs: AddressList[] = [];
  let batch: string[] = [];

  const push = (list: AddressList): void => {
    if (list.length === 0) return;
    let last = list;
    for (let before = runs.at(-1); before !== undefined; before = runs.at(-1)) {
      if (before.length >= 2 * last.length) break;
      runs.pop();
      // A copy, because a union has room for the addresses that both have.
      last = union(before, last).slice();
    }
    runs.push(last);
  };
  const flush = (): void => {
    if (batch.length === 0) return;
    const sorted = batch.toSorted();
    batch = [];
    const list = new Uint8Array(sorted.length * ADDRESS_LENGTH);
    let end = 0;
    for (const [i, address] of sorted.entries()) {
      if (address === sorted[i - 1]) continue;
      list.set(fromHex(address), end);
      end += ADDRESS_LENGTH;
    }
    push(list.slice(0, end));
  };
  return {
    add(address) {
      batch.push(address);
      if (batch.length >= BATCH) flush();
    },
    addList: push,
    missing(list) {
      flush();
      return runs.reduce((rest, run) => difference(rest, run), list);
    },
    get bytes() {
      return runs.reduce((sum, run) => sum + run.length, batch.length * ADDRESS_LENGTH);
    },
    has(address) {
      flush();
      return runs.some((run) => hasAddress(run, address));
    },
    count(shard) {
      flush();
      let all: AddressList = new Uint8Array(0);
      for (const run of runs.toReversed()) all = union(run, all);
      runs = all.length === 0 ? [] : [all.slice()];
      if (shard === undefined || shard === ALL_BLOBS) return countOf(all);
      let counted = 0;
      for (let at = 0; at < all.length; at += ADDRESS_LENGTH) {
        if (shard.has(toHex(all.subarray(at, at + ADDRESS_LENGTH)))) counted += 1;
      }
      return counted;
    },
  };
}

/** A blob, and its length as stored. */
export interface SizedBlob {
  readonly address: Address;
  readonly size: number;
}

/** Blobs in the order in which they are added, at 40 bytes each. */
export interface BlobQueue extends Iterable<SizedBlob> {
  readonly length: number;
  push(address: Uint8Array, size: number): void;
}

const PER_PART = 4096;

export function blobQueue(): BlobQueue {
  const parts: { readonly addresses: Uint8Array; readonly sizes: Float64Array }[] = [];
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(address, size) {
      const at = length % PER_PART;
      if (at === 0) {
        const addresses = new Uint8Array(PER_PART * ADDRESS_LENGTH);
        parts.push({ addresses, sizes: new Float64Array(PER_PART) });
      }
      parts.at(-1)!.addresses.set(address, at * ADDRESS_LENGTH);
      parts.at(-1)!.sizes[at] = size;
      length += 1;
    },
    *[Symbol.iterator]() {
      for (let i = 0; i < length; i++) {
        const { addresses, sizes } = parts[Math.floor(i / PER_PART)]!;
        const at = i % PER_PART;
        const address = addresses.subarray(at * ADDRESS_LENGTH, (at + 1) * ADDRESS_LENGTH);
        yield { address: toHex(address) as Address, size: sizes[at]! };
      }
    },
  };
}
