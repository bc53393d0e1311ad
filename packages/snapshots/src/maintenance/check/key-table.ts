import { hash } from "@idk/storage/blobs";

/** Keys of one length, numbered from 0 in the order in which they are added. */
export interface KeyTable {
  readonly length: number;
  /** What it takes, in bytes. */
  readonly bytes: number;
  find(key: Uint8Array): number | undefined;
  /** The number of a key, which is new if it was not there. */
  add(key: Uint8Array): number;
  /** A view. */
  key(number: number): Uint8Array;
  /** Takes back all but the first. */
  truncate(length: number): void;
}

/** Numbers in the order in which they are added, kept in parts, so that growing copies nothing. */
export interface Column {
  readonly length: number;
  push(value: number): void;
  at(index: number): number;
  truncate(length: number): void;
}

const PER_PART = 2 ** 14;
const SLOTS_LEAST = 2048;

export function column(kind: typeof Int32Array | typeof Float64Array): Column {
  let parts: (Int32Array | Float64Array)[] = [];
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      const at = length % PER_PART;
      if (at === 0) parts.push(new kind(PER_PART));
      parts.at(-1)![at] = value;
      length += 1;
    },
    at: (index) => parts[Math.floor(index / PER_PART)]![index % PER_PART]!,
    truncate(to) {
      length = to;
      parts = parts.slice(0, Math.ceil(to / PER_PART));
    },
  };
}

/** A hash table that takes little more than its keys. Others choose them, so they are hashed with a secret. */
export function keyTable(width: number): KeyTable {
  const secret = crypto.getRandomValues(new Uint8Array(16));
  let parts: Uint8Array[] = [];
  let length = 0;
  /** Numbers and 1; at least half are 0, which is none. */
  let slots = new Int32Array(SLOTS_LEAST);

  const key = (number: number): Uint8Array => {
    const at = (number % PER_PART) * width;
    return parts[Math.floor(number / PER_PART)]!.subarray(at, at + width);
  };
  /** The slot of a key, or the one where it would be. */
  const slotOf = (given: Uint8Array): number => {
    const digest = hash(secret, given);
    let slot = new DataView(digest.buffer, digest.byteOffset).getUint32(0, true) % slots.length;
    while (slots[slot] !== 0 && Buffer.compare(key(slots[slot]! - 1), given) !== 0) {
      slot = (slot + 1) % slots.length;
    }
    return slot;
  };
  const fill = (size: number): void => {
    slots = new Int32Array(size);
    for (let number = 0; number < length; number++) slots[slotOf(key(number))] = number + 1;
  };
  return {
    get length() {
      return length;
    },
    get bytes() {
      return length * width + slots.byteLength;
    },
    key,
    find(given) {
      const found = slots[slotOf(given)]!;
      return found === 0 ? undefined : found - 1;
    },
    add(given) {
      let slot = slotOf(given);
      const found = slots[slot]!;
      if (found !== 0) return found - 1;
      if (2 * (length + 1) > slots.length) {
        fill(2 * slots.length);
        slot = slotOf(given);
      }
      if (length % PER_PART === 0) parts.push(new Uint8Array(PER_PART * width));
      length += 1;
      key(length - 1).set(given);
      slots[slot] = length;
      return length - 1;
    },
    truncate(to) {
      if (to === length) return;
      length = to;
      parts = parts.slice(0, Math.ceil(to / PER_PART));
      fill(to === 0 ? SLOTS_LEAST : slots.length);
    },
  };
}
