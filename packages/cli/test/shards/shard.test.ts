import { describe, expect, test } from "bun:test";
import { memory } from "@idk/storage/memory";
import { wrapBackend } from "@idk/storage";
import { blobBatches } from "../../src/shards/batches.ts";
import {
  isInShard,
  parseShard,
  prefixesOf,
  type Shard,
  SHARDS_MAX,
} from "../../src/shards/shard.ts";

const addressOf = (number: number): string =>
  new Bun.CryptoHasher("sha256").update(String(number)).digest("hex");

const shardsOf = (count: number): Shard[] =>
  Array.from({ length: count }, (_, at) => ({ index: at + 1, count }));

/** The first and the last prefix of four digits below a prefix. */
const first = (prefix: string): number => Number.parseInt(prefix.padEnd(4, "0"), 16);
const last = (prefix: string): number => Number.parseInt(prefix.padEnd(4, "f"), 16);

describe("the shards of a count", () => {
  // All small ones, the powers of two and their neighbours, and the largest.
  const counts = [...Array(130).keys()].map((at) => at + 1);
  counts.push(255, 256, 257, 1000, 2047, 3001, SHARDS_MAX - 1, SHARDS_MAX);

  test("have prefixes that are disjoint, in order, and cover all addresses evenly", () => {
    for (const count of counts) {
      let next = 0;
      const sizes: number[] = [];
      for (const shard of shardsOf(count)) {
        const before = next;
        for (const prefix of prefixesOf(shard)) {
          // Exactly where the one before has ended: neither a gap nor an overlap.
          if (first(prefix) !== next) throw new Error(`${prefix} follows ${next.toString(16)}`);
          next = last(prefix) + 1;
        }
        sizes.push(next - before);
      }
      expect([count, next]).toEqual([count, 2 ** 16]);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
  });

  test.each([[1], [2], [3], [7], [16], [100], [256], [SHARDS_MAX]])(
    "%p: each address is in exactly one, that with its prefix",
    (count) => {
      const shards = shardsOf(count).map((shard) => ({ shard, prefixes: prefixesOf(shard) }));
      for (let number = 0; number < 50; number++) {
        const address = addressOf(number);
        const inside = shards.filter(({ shard }) => isInShard(shard, address));
        const listed = shards.filter(({ prefixes }) =>
          prefixes.some((prefix) => address.startsWith(prefix)),
        );
        expect(inside).toHaveLength(1);
        expect(listed).toEqual(inside);
      }
    },
  );

  test("need few listings", () => {
    expect(prefixesOf({ index: 1, count: 1 })).toEqual([""]);
    expect(prefixesOf({ index: 2, count: 4 })).toEqual(["4", "5", "6", "7"]);
    expect(prefixesOf({ index: 256, count: 256 })).toEqual(["ff"]);
    const most = Math.max(...shardsOf(3001).map((shard) => prefixesOf(shard).length));
    expect(most).toBeLessThanOrEqual(45);
  });
});

describe("I/N", () => {
  test("is parsed", () => {
    expect(parseShard("1/1")).toEqual({ index: 1, count: 1 });
    expect(parseShard("4096/4096")).toEqual({ index: 4096, count: 4096 });
  });

  test.each(["", "1", "0/4", "5/4", "1/0", "1/4097", "-1/4", "1/4/2", "1.5/4", " 1/4", "1/ 4"])(
    "rejects %p",
    (text) => {
      expect(() => parseShard(text)).toThrow("must be I/N");
    },
  );
});

describe("listing a shard", () => {
  const names = Array.from({ length: 2000 }, (_, number) => addressOf(number)).toSorted();

  test.each([[true], [false]])(
    "yields its blobs in order, from any address on, and lists nothing else (ordered: %p)",
    async (isOrdered) => {
      const backend = memory();
      for (const name of names) await backend.put(name, new Uint8Array(1));
      const { listAfter: _, ...rest } = backend;
      const prefixes: string[] = [];
      const store = wrapBackend(
        isOrdered
          ? {
              ...backend,
              async *listAfter(prefix, after) {
                prefixes.push(prefix);
                for (const name of names) {
                  if (name.startsWith(prefix) && name > after) yield { name, size: 1 };
                }
              },
            }
          : rest,
        {
          list: () =>
            async function* list(prefix) {
              prefixes.push(prefix);
              const found = names.filter((name) => name.startsWith(prefix));
              for (const name of isOrdered ? found : found.toReversed()) yield { name, size: 1 };
            },
        },
      );
      for (const shard of [...shardsOf(1), ...shardsOf(3), ...shardsOf(20)]) {
        const mine = names.filter((name) => isInShard(shard, name));
        for (const after of ["", mine[0]!, mine[mine.length >> 1]!, mine.at(-1)!]) {
          prefixes.length = 0;
          const batches = await Array.fromAsync(
            blobBatches(store, prefixesOf(shard), after, new AbortController().signal),
          );
          const found = batches.flat().map(({ name }) => name);
          expect(found).toEqual(mine.filter((name) => name > after));
          expect(batches.every((batch) => batch.length <= 256)).toBe(true);
          const own = prefixesOf(shard);
          expect(prefixes.every((prefix) => own.some((one) => prefix.startsWith(one)))).toBe(true);
        }
      }
    },
  );
});
