/** Bytes that stand for what a name has. */
export const PRINT_LENGTH = 16;

/** No group, at the end of a chain. */
const NONE = 0xffff_ffff;
const FIRST_CAPACITY = 2 ** 10;

/** A group of hard links, not all of whose names were seen. */
export interface OpenGroup {
  readonly number: number;
  /** Names that are yet to come. */
  readonly left: number;
  /** What the names before have. */
  readonly print: Uint8Array;
}

/**
 * The open groups of a walk, by device and inode. In a tree that was copied with hard links, nearly every
 * file is in a group whose other names come much later or lie outside, so each takes some 60 bytes, and
 * not an object.
 */
export class LinkTable {
  #capacity = 0;
  #devices = new Float64Array(0);
  #inodes = new BigUint64Array(0);
  #numbers = new Float64Array(0);
  #left = new Uint32Array(0);
  #prints = new Uint8Array(0);
  /** The next group of the same bucket, or the next free one. */
  #next = new Uint32Array(0);
  #buckets = new Uint32Array(0);
  #free = NONE;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(device: number, inode: bigint): OpenGroup | undefined {
    const at = this.#find(device, inode);
    if (at === NONE) return undefined;
    const print = this.#prints.subarray(at * PRINT_LENGTH, (at + 1) * PRINT_LENGTH);
    return { number: this.#numbers[at]!, left: this.#left[at]!, print };
  }

  set(device: number, inode: bigint, { number, left, print }: OpenGroup): void {
    let at = this.#find(device, inode);
    if (at === NONE) {
      if (this.#free === NONE) this.#grow();
      at = this.#free;
      this.#free = this.#next[at]!;
      this.#devices[at] = device;
      this.#inodes[at] = inode;
      this.#link(at);
      this.#size += 1;
    }
    this.#numbers[at] = number;
    this.#left[at] = left;
    this.#prints.set(print, at * PRINT_LENGTH);
  }

  delete(device: number, inode: bigint): void {
    const found = this.#find(device, inode);
    if (found === NONE) return;
    const bucket = this.#bucket(device, inode);
    const next = this.#next[found]!;
    if (this.#buckets[bucket] === found) {
      this.#buckets[bucket] = next;
    } else {
      let before = this.#buckets[bucket]!;
      while (this.#next[before] !== found) before = this.#next[before]!;
      this.#next[before] = next;
    }
    this.#next[found] = this.#free;
    this.#free = found;
    this.#size -= 1;
  }

  #find(device: number, inode: bigint): number {
    if (this.#capacity === 0) return NONE;
    let at = this.#buckets[this.#bucket(device, inode)]!;
    while (at !== NONE && (this.#inodes[at] !== inode || this.#devices[at] !== device)) {
      at = this.#next[at]!;
    }
    return at;
  }

  /** Inodes are numbered one after the other, or nearly. */
  #bucket(device: number, inode: bigint): number {
    const low = Number(inode & 0xffff_ffffn);
    const high = Number(inode >> 32n);
    const mixed = Math.imul(low ^ Math.imul(high, 0x85eb_ca6b) ^ device, 0x9e37_79b1);
    return (mixed ^ (mixed >>> 15)) & (this.#capacity - 1);
  }

  #link(at: number): void {
    const bucket = this.#bucket(this.#devices[at]!, this.#inodes[at]!);
    this.#next[at] = this.#buckets[bucket]!;
    this.#buckets[bucket] = at;
  }

  /** All groups are in use: twice as many. */
  #grow(): void {
    const [before, capacity] = [this.#capacity, Math.max(FIRST_CAPACITY, 2 * this.#capacity)];
    const devices = new Float64Array(capacity);
    devices.set(this.#devices);
    this.#devices = devices;
    const inodes = new BigUint64Array(capacity);
    inodes.set(this.#inodes);
    this.#inodes = inodes;
    const numbers = new Float64Array(capacity);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    const left = new Uint32Array(capacity);
    left.set(this.#left);
    this.#left = left;
    const prints = new Uint8Array(PRINT_LENGTH * capacity);
    prints.set(this.#prints);
    this.#prints = prints;
    this.#next = new Uint32Array(capacity);
    this.#buckets = new Uint32Array(capacity).fill(NONE);
    this.#capacity = capacity;
    for (let at = 0; at < before; at += 1) this.#link(at);
    for (let at = before; at < capacity; at += 1)
      this.#next[at] = at + 1 < capacity ? at + 1 : NONE;
    this.#free = before;
  }
}
