import { HASH_LENGTH } from "../format/limits.ts";
import { fromHex, toHex } from "../bytes.ts";

/** Names in the order in which they came, at 32 bytes each: a text takes three times that. */
export interface NameList extends Iterable<string> {
  readonly length: number;
  push(name: string): void;
}

const NAMES_PER_PART = 1024;

export function createNameList(): NameList {
  const parts: Uint8Array[] = [];
  let count = 0;
  return {
    get length() {
      return count;
    },
    push(name) {
      const at = count % NAMES_PER_PART;
      if (at === 0) parts.push(new Uint8Array(NAMES_PER_PART * HASH_LENGTH));
      parts.at(-1)!.set(fromHex(name), at * HASH_LENGTH);
      count += 1;
    },
    *[Symbol.iterator]() {
      for (let i = 0; i < count; i++) {
        const at = (i % NAMES_PER_PART) * HASH_LENGTH;
        yield toHex(parts[Math.floor(i / NAMES_PER_PART)]!.subarray(at, at + HASH_LENGTH));
      }
    },
  };
}
