import { describe, expect, test } from "bun:test";
import { createFlow, createFlows } from "../../../src/store/flow/flow.ts";
import {
  type MemoryBudget,
  createContentBudget,
  createMemoryBudget,
} from "../../../src/store/flow/budget.ts";
import { type Backend, withRetry } from "../../../src/index.ts";
import { type Link, simulatedStore, virtualClock } from "./simulated.ts";
import { pMapIterable } from "p-map";

const MiB = 2 ** 20;
/** Bytes per millisecond. */
const MB_PER_S = 1000;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

interface Transfer {
  readonly count?: number;
  readonly size?: number;
  /** In flight at first. */
  readonly first?: number;
  /** In flight always; by default as many as at first. */
  readonly fixed?: number;
  readonly budget?: MemoryBudget;
  readonly seed?: number;
}

/** Gets blobs through a link, with retries, and returns how long it took and what the store saw. */
async function transfer(
  how: "fixed" | "adaptive",
  link: Link,
  given: Transfer = {},
): Promise<{ ms: number; retries: number; most: number; mean: number }> {
  const { count = 125, size = 4 * MiB, first = 4, fixed = first } = given;
  const { budget = createMemoryBudget(256 * MiB) } = given;
  const clock = virtualClock(given.seed);
  const blobs = { head: async () => ({ size }), get: async () => size } as unknown as Backend;
  const { backend, seen } = simulatedStore(clock, link, blobs);
  let retries = 0;
  const retrying = withRetry(backend, { onRetry: () => void (retries += 1) }, clock);
  const items = upTo(count);
  const get = async (item: number, from: Backend) => {
    await from.get("", new Uint8Array());
    return item;
  };
  const options = { most: 64, itemBytes: 3 * size, signal: undefined };
  const results =
    how === "adaptive"
      ? createFlow(retrying, budget, first, clock.now).map(each(items), get, options)
      : pMapIterable(items, (item) => get(item, retrying), { concurrency: fixed });
  const all = clock.run(Array.fromAsync(results));
  expect(await all).toEqual(items);
  return { ms: clock.now(), retries, most: seen.most, mean: seen.sum / seen.calls };
}

/** The same by a fixed number and by an adaptive one, summed over sixty runs with other chances. */
async function compare(linkOf: (seed: number) => Link, given: Transfer = {}) {
  const sum = {
    fixed: { ms: 0, retries: 0, most: 0 },
    adaptive: { ms: 0, retries: 0, most: 0 },
  };
  for (let seed = 1; seed <= 60; seed++) {
    for (const how of ["fixed", "adaptive"] as const) {
      const { ms, retries, most } = await transfer(how, linkOf(seed), { ...given, seed });
      sum[how].ms += ms;
      sum[how].retries += retries;
      sum[how].most = Math.max(sum[how].most, most);
    }
  }
  return sum;
}

describe("over a simulated line", () => {
  const near: Link = { roundTrip: 1, rate: 250 * MB_PER_S, jitter: 0.5 };
  const far: Link = { roundTrip: 100, rate: 250 * MB_PER_S, jitter: 0.2 };

  test("a store nearby gets about four chunks at once, and takes as long as with four", async () => {
    const adaptive = await transfer("adaptive", near, { count: 500 });
    const fixed = await transfer("fixed", near, { count: 500 });
    expect(adaptive.mean).toBeLessThan(4.5);
    expect(adaptive.most).toBeLessThanOrEqual(8);
    expect(adaptive.ms).toBeLessThanOrEqual(fixed.ms);
  });

  test("a store far away fills the line within a second", async () => {
    const { ms, most } = await transfer("adaptive", far);
    const line = (125 * 4 * MiB) / far.rate;
    expect(ms - line).toBeLessThan(300);
    expect(most).toBeLessThanOrEqual(8);
    expect((await transfer("fixed", far)).ms).toBeGreaterThan(1.5 * ms);
  });

  test("connections that are slow each are opened as memory allows", async () => {
    const slow = { ...far, connectionRate: 10 * MB_PER_S };
    const { ms, most } = await transfer("adaptive", slow);
    expect(most).toBe(8);
    expect((await transfer("fixed", slow)).ms).toBeGreaterThan(1.6 * ms);
    const budget = createContentBudget(64 * MiB);
    expect((await transfer("adaptive", slow, { budget })).most).toBe(5);
    expect(budget.used()).toBe(0);
  });

  test("small objects far away go up to 64 at once", async () => {
    const link = { roundTrip: 50, rate: 20 * MB_PER_S, jitter: 0.2 };
    const small = { count: 500, size: 4096, first: 16 };
    const { ms, most } = await transfer("adaptive", link, small);
    expect(most).toBe(64);
    expect((await transfer("fixed", link, small)).ms).toBeGreaterThan(1.6 * ms);
  });
});

/** A store that fails is no worse off: no more retries, and no more time. */
describe("a store that fails", () => {
  // A retry more or less is chance: how long a delay is decides what the next attempt meets.
  const CHANCE = 1.05;
  const small = { size: 4096, first: 24, fixed: 16 };

  /** So many requests a second. */
  const allowing = (rate: number): Link => {
    let [left, last] = [rate, 0];
    const refuses = (now: number): boolean => {
      left = Math.min(rate, left + ((now - last) * rate) / 1000);
      last = now;
      if (left < 1) return true;
      left -= 1;
      return false;
    };
    return { roundTrip: 50, rate: 250 * MB_PER_S, refuses };
  };

  const refusingEachTwentieth = (seed: number): Link => {
    let requests = seed;
    const refuses = (): boolean => requests++ % 20 === 0;
    return { roundTrip: 50, rate: 250 * MB_PER_S, jitter: 0.2, refuses };
  };

  test.each<[string, (seed: number) => Link, Transfer]>([
    [
      "refuses everything for a fifth of the time",
      (seed) => ({
        roundTrip: 50,
        rate: 25 * MB_PER_S,
        jitter: 0.2,
        refuses: (now) => (now + seed * 500) % 5000 < 1000,
      }),
      { count: 250 },
    ],
    [
      "is far away and refuses everything for a sixth of the time",
      (seed) => ({
        roundTrip: 100,
        rate: 250 * MB_PER_S,
        jitter: 0.2,
        refuses: (now) => (now + seed * 500) % 3000 < 500,
      }),
      { count: 500 },
    ],
    ["refuses each twentieth request", refusingEachTwentieth, {}],
    ["allows 20 requests a second", () => allowing(20), { count: 300 }],
    [
      "allows 100 small objects a second, compared with 16 at once",
      () => allowing(100),
      { ...small, count: 1000 },
    ],
    [
      "refuses more than 10 small objects at once, compared with 16 at once",
      () => ({
        roundTrip: 50,
        rate: 250 * MB_PER_S,
        jitter: 0.2,
        refuses: (_, running) => running > 10,
      }),
      { ...small, count: 1000 },
    ],
    [
      "refuses each twentieth small object, compared with 16 at once",
      refusingEachTwentieth,
      { ...small, count: 500 },
    ],
    [
      "stalls for five seconds now and then",
      (seed) => ({
        roundTrip: 50,
        rate: 250 * MB_PER_S,
        jitter: 0.2,
        stall: (now) => ((now + seed * 77) % 3000 > 2900 ? 5000 : 0),
      }),
      {},
    ],
  ])(
    "that %s",
    async (_, linkOf, given) => {
      const { fixed, adaptive } = await compare(linkOf, given);
      expect(adaptive.retries).toBeLessThanOrEqual(CHANCE * fixed.retries);
      expect(adaptive.ms).toBeLessThanOrEqual(CHANCE * fixed.ms);
    },
    60_000,
  );

  test("by a line of 1 Mbit/s never gets more than four chunks at once", async () => {
    const { fixed, adaptive } = await compare(() => ({ roundTrip: 50, rate: 125, jitter: 0.2 }), {
      count: 20,
    });
    expect(adaptive).toEqual(fixed);
    expect(adaptive.most).toBe(4);
  });
});

test("a result that is late does not let more be fetched than memory allows", async () => {
  const clock = virtualClock();
  let started = 0;
  const late = Promise.withResolvers<void>();
  const budget = createContentBudget(12);
  const flow = createFlow({} as Backend, budget, 8, clock.now);
  const items = upTo(100);
  const work = async (item: number) => {
    started += 1;
    if (item === 3) await late.promise;
    return item;
  };
  const all = Array.fromAsync(
    flow.map(each(items), work, { most: 64, itemBytes: 3, signal: undefined }),
  );
  await Bun.sleep(5);
  // Three results, and four places.
  expect(started).toBe(3 + 4);
  late.resolve();
  expect(await all).toEqual(items);
  expect(budget.used()).toBe(0);
});

test("a call that is aborted gives its memory back, and is not taken for complete", async () => {
  const budget = createContentBudget(100);
  const flow = createFlow({} as Backend, budget, 4, () => 0);
  const start = (signal: AbortSignal) =>
    flow.map(each(upTo(100)), async (item) => item, { most: 64, itemBytes: 10, signal });
  const abandoned = new AbortController();
  const left = start(abandoned.signal);
  await left.next();
  expect(budget.used()).toBeGreaterThan(0);
  abandoned.abort();
  expect(budget.used()).toBe(0);

  const stopped = new AbortController();
  const results = start(stopped.signal);
  await results.next();
  // All places are taken by results that were not pulled, so it waits for one.
  await Bun.sleep(1);
  stopped.abort();
  const rest = Array.fromAsync({ [Symbol.asyncIterator]: () => results });
  expect(await rest.catch((error: unknown) => error)).toMatchObject({ code: "aborted" });
  expect(budget.used()).toBe(0);
});

test.each(["fails", "is left"])(
  "a call that %s ends at once, and gives its memory back",
  async (how) => {
    const budget = createContentBudget(100);
    const flow = createFlow({} as Backend, budget, 4, () => 0);
    let isClosed = false;
    async function* items() {
      try {
        yield* upTo(100);
      } finally {
        isClosed = true;
      }
    }
    const work = async (item: number): Promise<number> => {
      // By then, the next one waits for a place.
      await Bun.sleep(1);
      if (how === "fails" && item === 2) throw new Error("failed");
      return item;
    };
    const results = flow.map(items(), work, { most: 64, itemBytes: 10, signal: undefined });
    const seen: number[] = [];
    const consume = async (): Promise<void> => {
      for await (const result of results) {
        seen.push(result);
        await Bun.sleep(2);
        if (how === "is left" && result === 1) return;
      }
    };
    const ending = consume();
    if (how === "fails") expect(ending).rejects.toThrow("failed");
    await ending.catch(() => {});
    expect(seen).toEqual([0, 1]);
    expect(budget.used()).toBe(0);
    await Bun.sleep(1);
    expect(isClosed).toBe(true);
  },
);

test("a bound of one call is not taken for what the store allows", async () => {
  const clock = virtualClock();
  const blobs = { head: async () => ({ size: 100 }), get: async () => 100 } as unknown as Backend;
  const { backend, seen } = simulatedStore(clock, { roundTrip: 50, rate: 1e6 }, blobs);
  const flow = createFlow(backend, createMemoryBudget(Infinity), 24, clock.now);
  const work = (_: number, from: Backend) => from.get("", new Uint8Array());
  const options = { most: 12, itemBytes: 1000, signal: undefined };
  await clock.run(Array.fromAsync(flow.map(each(upTo(500)), work, options)));
  expect(seen.most).toBe(12);
  expect(flow.width()).toBe(24);
});

test("roots take at most half of the memory, and chunks what is left", async () => {
  const budget = createContentBudget(120);
  const { readRoots, readLeaves } = createFlows({} as Backend, budget);
  const late = Promise.withResolvers<void>();
  const options = { most: 64, itemBytes: 10, signal: undefined };
  const work = async (item: number): Promise<number> => {
    await late.promise;
    return item;
  };
  const roots = Array.fromAsync(readRoots.map(each(upTo(20)), work, options));
  await Bun.sleep(1);
  expect(budget.used()).toBe(60);
  const leaves = Array.fromAsync(readLeaves.map(each(upTo(20)), work, options));
  await Bun.sleep(1);
  expect(budget.used()).toBe(60 + 4 * 10);
  late.resolve();
  expect(await Promise.all([roots, leaves])).toEqual([upTo(20), upTo(20)]);
  expect(budget.used()).toBe(0);
});

test("what one call has learned, the next one begins with", async () => {
  const clock = virtualClock();
  const link = { roundTrip: 100, rate: 250 * MB_PER_S };
  const size = 4 * MiB;
  const blobs = { head: async () => ({ size }), get: async () => size } as unknown as Backend;
  const { backend, seen } = simulatedStore(clock, link, blobs);
  const flow = createFlow(backend, createMemoryBudget(Infinity), 4, clock.now);
  const get = (count: number) =>
    clock.run(
      Array.fromAsync(
        flow.map(each(upTo(count)), (_, from) => from.get("", new Uint8Array()), {
          most: 64,
          itemBytes: size,
          signal: undefined,
        }),
      ),
    );
  await get(125);
  expect(flow.width()).toBeGreaterThan(4);
  seen.most = 0;
  await get(6);
  expect(seen.most).toBe(6);
});

test("chunks count with their own size after calls with smaller ones", async () => {
  const clock = virtualClock();
  const blobs = {
    head: async (size: string) => ({ size: Number(size) }),
    get: async (size: string) => Number(size),
  } as unknown as Backend;
  const { backend, seen } = simulatedStore(clock, { roundTrip: 100, rate: 1e6 }, blobs);
  const flow = createFlow(backend, createContentBudget(96 * MiB), 4, clock.now);
  const mostOf = async (count: number, size: number): Promise<number> => {
    seen.most = 0;
    const options = { most: 64, itemBytes: 3 * size, signal: undefined };
    const work = (_: number, from: Backend) => from.get(String(size), new Uint8Array());
    await clock.run(Array.fromAsync(flow.map(each(upTo(count)), work, options)));
    return seen.most;
  };
  expect(await mostOf(500, MiB / 4)).toBe(64);
  expect(await mostOf(100, 16 * MiB)).toBe(2);
});

test("nothing of a call is kept once it has ended", async () => {
  const flow = createFlow({} as Backend, createContentBudget(1000), 4, () => 0);
  const run = async (): Promise<WeakRef<object>> => {
    const content = { bytes: new Uint8Array(MiB) };
    const work = async (item: number) => content.bytes[item];
    const options = { most: 64, itemBytes: 10, signal: undefined };
    await Array.fromAsync(flow.map(each(upTo(20)), work, options));
    return new WeakRef(content);
  };
  // At the same time, because each keeps what it has learned for a later one.
  const refs = await Promise.all(Array.from({ length: 40 }, run));
  // One collection: what is let go of only by it stays until the next.
  await Bun.sleep(1);
  Bun.gc(true);
  // The stack may still hold some.
  expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(20);
});

test("memory of calls that nobody consumes or leaves comes back", async () => {
  const budget = createContentBudget(100);
  const flow = createFlow({} as Backend, budget, 4, () => 0);
  const options = { most: 64, itemBytes: 10, signal: undefined };
  const calls = Array.from({ length: 40 }, () =>
    flow.map(each(upTo(100)), async (item) => item, options),
  );
  await Promise.all(calls.map((call) => call.next()));
  await Bun.sleep(1);
  expect(budget.used()).toBeGreaterThanOrEqual(40 * 2 * 10);
  calls.length = 0;
  for (let i = 0; i < 100 && budget.used() > 0; i++) {
    await Bun.sleep(1);
    Bun.gc(true);
  }
  // The stack may still hold some.
  expect(budget.used()).toBeLessThan(10 * 4 * 10);
});
