import type { BlobShard } from "@idk/snapshots";

/** One of several parts of a store that are worked on apart, by the first bits of the addresses. */
export interface Shard {
  /** From 1 to `count`. */
  readonly index: number;
  readonly count: number;
}

/** At this number, each shard has 16 of the 65,536 prefixes of four digits. */
export const SHARDS_MAX = 4096;

/** Digits of an address that decide in which shard it is. */
const DIGITS = 4;
const PREFIXES = 16 ** DIGITS;

/** Parses `3/16`. @throws Error with a predicate that follows the setting's name */
export function parseShard(text: string): Shard {
  const [, first = "", second = ""] = /^(\d{1,4})\/(\d{1,4})$/u.exec(text) ?? [];
  const [index, count] = [Number(first), Number(second)];
  if (first === "" || index < 1 || index > count || count > SHARDS_MAX) {
    throw new Error(
      `must be I/N, such as 1/4: N from 1 to ${SHARDS_MAX}, and I from 1 to N (a scheduler that counts ` +
        "from 0 needs I + 1)",
    );
  }
  return { index, count };
}

export function shardText({ index, count }: Shard): string {
  return `${index}/${count}`;
}

/**
 * The fewest prefixes that together are those of all addresses in a shard, in ascending order. The
 * shards of one count are disjoint, cover all addresses, and differ by at most one prefix of four
 * digits.
 */
export function prefixesOf(shard: Shard): string[] {
  const prefixes: string[] = [];
  const { start, end } = rangeOf(shard);
  for (let at = start; at < end;) {
    let [size, digits] = [1, DIGITS];
    while (digits > 0 && at % (size * 16) === 0 && at + size * 16 <= end) {
      size *= 16;
      digits -= 1;
    }
    prefixes.push(at.toString(16).padStart(DIGITS, "0").slice(0, digits));
    at += size;
  }
  return prefixes;
}

/** Whether an address, or another text that begins with four hex digits, is in the shard. */
export function isInShard(shard: Shard, address: string): boolean {
  const at = Number.parseInt(address.slice(0, DIGITS), 16);
  const { start, end } = rangeOf(shard);
  return at >= start && at < end;
}

/** The same for maintenance of snapshots. */
export function blobShard(shard: Shard): BlobShard {
  return {
    prefixes: prefixesOf(shard),
    count: shard.count,
    has: (address) => isInShard(shard, address),
  };
}

/** Its prefixes of four digits, as numbers; `end` is exclusive. */
function rangeOf({ index, count }: Shard): { readonly start: number; readonly end: number } {
  return {
    start: Math.floor(((index - 1) * PREFIXES) / count),
    end: Math.floor((index * PREFIXES) / count),
  };
}
