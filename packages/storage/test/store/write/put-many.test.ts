import type { Backend, PutItem, PutResult } from "../../../src/index.ts";
import { addressOf, counted, gated, item, putAll, settle } from "../many.ts";
import { alice, aliceStore, bob, codeOf, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { memory } from "../../../src/backend/memory.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const CHUNK = 256 * KiB;

describe("putMany", () => {
  test("stores what put would store, and returns the caller's keys", async () => {
    const items = fc.array(
      fc.record({
        size: fc.oneof(
          { weight: 6, arbitrary: fc.integer({ min: 0, max: 3000 }) },
          { weight: 1, arbitrary: fc.integer({ min: MiB - 1, max: MiB + CHUNK }) },
        ),
        name: fc.option(fc.string({ maxLength: 20, unit: "grapheme" }), { nil: undefined }),
        toBob: fc.boolean(),
      }),
      { maxLength: 12 },
    );
    const property = fc.asyncProperty(
      items,
      fc.integer({ min: 1, max: 8 }),
      fc.boolean(),
      async (shapes, concurrency, convergent) => {
        const dedupSecret = convergent ? random(32) : undefined;
        const store = aliceStore({ chunkSize: CHUNK });
        const given = shapes.map(({ size, name, toBob }, index) => ({
          key: { index },
          content: random(size),
          options: {
            metadata: name === undefined ? {} : { name },
            ...(toBob && { recipients: [bob.recipient] }),
          },
        }));
        const results = await Array.fromAsync(store.putMany(given, { concurrency, dedupSecret }));
        expect(results.map(({ key }) => key.index).toSorted((a, b) => a - b)).toEqual([
          ...given.keys(),
        ]);
        for (const result of results) {
          const address = addressOf(result);
          const { content, options } = given[result.key.index]!;
          // With a dedup secret, even the addresses are the same.
          if (convergent) {
            expect(await store.put(content, { ...options, dedupSecret })).toBe(address);
          }
          const identities = "recipients" in options ? [bob] : [alice];
          const blob = await store.get(address, { identities });
          expect(blob.metadata).toEqual(options.metadata);
          expect(sha256(await blob.bytes())).toBe(sha256(content));
        }
      },
    );
    await fc.assert(property, { numRuns: 25 });
  }, 30_000);

  test("yields results in order of completion", async () => {
    const { backend, waiting } = gated(memory());
    const results = aliceStore({ backend }).putMany([0, 1, 2].map(item))[Symbol.asyncIterator]();
    const first = results.next();
    await settle();
    expect(waiting).toHaveLength(3);
    const order: number[] = [];
    const take = async (next: Promise<IteratorResult<PutResult<number>>>) =>
      order.push((await next).value.key);
    waiting[2]!.open();
    await take(first);
    waiting[0]!.open();
    await take(results.next());
    waiting[1]!.open();
    await take(results.next());
    expect(order).toEqual([2, 0, 1]);
    expect((await results.next()).done).toBe(true);
  });

  test("pulls no more than its concurrency beyond the results taken", async () => {
    const { seen, items } = counted(100, item);
    const results = aliceStore().putMany(items, { concurrency: 3 })[Symbol.asyncIterator]();
    await settle();
    expect(seen.pulled).toBe(0);
    for (let taken = 1; taken <= 10; taken++) {
      await results.next();
      await settle();
      expect(seen.pulled).toBeGreaterThanOrEqual(taken);
      expect(seen.pulled).toBeLessThanOrEqual(taken + 3);
    }
    await results.return?.();
    expect(seen.ended).toBe(true);
  });

  test("begins with 24 in flight, and never has more than its concurrency", async () => {
    for (const [given, first, most] of [
      [undefined, 24, 64],
      [5, 5, 5],
      [30, 24, 30],
    ] as const) {
      const { backend, waiting } = gated(memory());
      const results = aliceStore({ backend }).putMany(
        Array.from({ length: 100 }, (_, i) => item(i)),
        { concurrency: given },
      );
      const all = Array.fromAsync(results);
      for (let stored = 0; stored < 100;) {
        await settle();
        if (stored === 0) expect(waiting.length).toBe(first);
        else expect(waiting.length).toBeLessThanOrEqual(most);
        stored += waiting.length;
        for (const { open } of waiting.splice(0)) open();
      }
      expect(await all).toHaveLength(100);
    }
  });

  test("ends the work at once if the loop is left early", async () => {
    const { backend, waiting } = gated(memory());
    const { seen, items } = counted(100, item);
    const store = aliceStore({ backend });
    for await (const { ok } of (async function* () {
      const results = store.putMany(items, { concurrency: 4 });
      setTimeout(() => waiting[0]!.open(), 5);
      yield* results;
    })()) {
      expect(ok).toBe(true);
      break;
    }
    expect(seen.ended).toBe(true);
    const stored = await Array.fromAsync(store.list());
    expect(stored).toHaveLength(1);
    // Nothing waits at the gate forever: every call was told to stop.
    expect(waiting.length).toBeLessThanOrEqual(5);
    await settle();
    expect(await Array.fromAsync(store.list())).toEqual(stored);
  });

  test("ends with aborted when the signal fires, whatever it is awaiting", async () => {
    const { backend } = gated(memory());
    const stuck = (): AsyncIterable<PutItem<number>> => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    });
    for (const items of [[item(0), item(1)], stuck()]) {
      const controller = new AbortController();
      const results = aliceStore({ backend }).putMany(items, { signal: controller.signal });
      const all = outcome(Array.fromAsync(results));
      await settle();
      controller.abort();
      expect(await all).toBe("aborted");
    }
    const results = aliceStore().putMany([item(0)], { signal: AbortSignal.abort() });
    expect(await outcome(Array.fromAsync(results))).toBe("aborted");
  });

  test("continues after a failed item, and reports which failed", async () => {
    const broken = new Error("the disk it came from is broken");
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield random(10);
      throw broken;
    }
    const items: PutItem<string>[] = [
      { key: "stream", content: breaking() },
      { key: "recipient", content: "x", options: { recipients: ["idk1nobody"] } },
      { key: "type", content: 7 as unknown as string },
      ...Array.from({ length: 20 }, (_, i) => ({ key: `good ${i}`, content: `${i}` })),
    ];
    const results = await Array.fromAsync(aliceStore().putMany(items, { concurrency: 2 }));
    const failed = results.filter((result) => !result.ok);
    expect(Object.fromEntries(failed.map(({ key, error }) => [key, codeOf(error)]))).toEqual({
      stream: broken,
      recipient: "key",
      type: "usage",
    });
    expect(results.filter(({ ok }) => ok)).toHaveLength(20);
  });

  test("ends with the items' own error, after the results of items already started", async () => {
    const broken = new Error("no more items");
    async function* breaking(): AsyncGenerator<PutItem<number>> {
      for (let i = 0; i < 5; i++) yield item(i);
      throw broken;
    }
    const store = aliceStore();
    const keys: number[] = [];
    const all = (async () => {
      for await (const { key } of store.putMany(breaking())) keys.push(key);
    })();
    expect(await outcome(all)).toBe(broken);
    expect(new Set(keys)).toEqual(new Set([0, 1, 2, 3, 4]));
  });

  test("rejects invalid options and items before anything is stored", async () => {
    const wrong = async (items: unknown, options?: object, store = aliceStore()) =>
      outcome(Array.fromAsync(store.putMany(items as PutItem<number>[], options)));
    expect(await wrong([item(0)], { recipients: ["idk1nobody"] })).toBe("key");
    expect(await wrong([item(0)], { concurrency: 0 })).toBe("usage");
    expect(await wrong([item(0)], { concurrency: 65 })).toBe("usage");
    expect(await wrong([item(0)], { chunkSize: 5 })).toBe("usage");
    expect(await wrong(7)).toBe("usage");
    expect(await wrong(["plain text"])).toBe("usage");
    expect(await wrong([])).toBe("ok");
  });

  test("stores large contents one at a time, while small ones pass them", async () => {
    const inner = memory();
    const large = { inFlight: 0, most: 0 };
    const backend: Backend = {
      ...inner,
      put: async (name, bytes, options) => {
        if (bytes.length < CHUNK) return inner.put(name, bytes, options);
        large.inFlight += 1;
        large.most = Math.max(large.most, large.inFlight);
        await Bun.sleep(1);
        large.inFlight -= 1;
        return inner.put(name, bytes, options);
      },
    };
    const store = aliceStore({ backend, chunkSize: CHUNK, concurrency: 2 });
    const sizes = [...Array.from({ length: 4 }, () => 2 * MiB), 10, 10];
    const items = sizes.map((size, key) => ({ key, content: random(size) }));
    const keys: number[] = [];
    for await (const result of store.putMany(items)) {
      expect(result.ok).toBe(true);
      keys.push(result.key);
    }
    expect(large.most).toBe(2);
    expect(new Set(keys.slice(0, 2))).toEqual(new Set([4, 5]));
    expect(new Set(keys)).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  });

  test("marks the store as deduplicating", async () => {
    const store = aliceStore();
    const [address] = await putAll(store, 1);
    await Array.fromAsync(store.putMany([], { dedupSecret: random(32) }));
    expect(await outcome(store.deleteTree(address!))).toBe("usage");
  });
});
