import { describe, expect, test } from "bun:test";
import { aliceStore, outcome, random } from "../../support.ts";
import { type Backend, StorageError, withRetry } from "../../../src/index.ts";
import { bytesOf } from "./replicate-support.ts";
import { memory } from "../../../src/backend/memory.ts";

/** How many are in flight grows while that is faster, so requests take far longer than the processor. */
const FAR = 100;

/** A backend whose requests take some milliseconds, and how many have been in flight. */
function slow(inner: Backend, ms = 10) {
  const seen = { now: 0, most: 0 };
  const slowed =
    <Call extends unknown[], T>(method: (...call: Call) => Promise<T>) =>
    async (...call: Call): Promise<T> => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await Bun.sleep(ms);
      seen.now -= 1;
      return method(...call);
    };
  const { get, head, getRange } = inner;
  const backend: Backend = {
    ...inner,
    get: slowed(get),
    head: slowed(head),
    delete: slowed(inner.delete),
    getRange: slowed(getRange!),
  };
  return { backend, seen };
}

describe("a store far away", () => {
  const SMALL = 250;
  const smallRoots = async (to: Backend): Promise<string[]> => {
    const contents = Array.from({ length: SMALL }, (_, i) => `content ${i}`);
    const store = aliceStore({ backend: to });
    return Promise.all(contents.map((content) => store.put(content)));
  };

  test.each([false, true])("has more small blobs verified at once, deep: %p", async (deep) => {
    const inner = memory();
    const roots = await smallRoots(inner);
    const most = async (options: object, ms?: number) => {
      const { backend, seen } = slow(inner, ms);
      const store = aliceStore({ backend, ...options });
      await Promise.all(roots.map((root) => store.verify(root, deep ? { deep } : { size: 2000 })));
      return seen.most;
    };
    // More than there are without growth.
    expect(await most({}, FAR)).toBeGreaterThan(8);
    expect(await most({ concurrency: 3 })).toBe(3);
    expect(await most({ memory: 1 })).toBe(2);
  });

  test("has many blobs verified at once, also after one of 16 MiB", async () => {
    const inner = memory();
    const writer = aliceStore({ backend: inner, chunkSize: 2 ** 24 });
    const medium = await Promise.all(Array.from({ length: 16 }, () => writer.put(random(2 ** 17))));
    const small = await smallRoots(inner);
    await writer.put(random(2 ** 24));
    const sizes = new Map(await Array.fromAsync(inner.list(""), ({ name, size }) => [name, size]));
    const [longest] = [...sizes.entries()].toSorted(([, a], [, b]) => b - a);
    const { backend, seen } = slow(inner, FAR);
    const store = aliceStore({ backend });
    const mostAmong = async (names: readonly string[]) => {
      seen.most = 0;
      const verifying = async (name: string) => store.verify(name, { size: sizes.get(name)! });
      await Promise.all(names.map(verifying));
      return seen.most;
    };
    expect(await mostAmong([longest![0]])).toBe(1);
    expect(await mostAmong(medium)).toBeGreaterThanOrEqual(4);
    expect(await mostAmong(small)).toBeGreaterThan(8);
  });

  test("has the chunks of four trees verified at once, and ends the wait of others at once", async () => {
    const inner = memory();
    const writer = aliceStore({ backend: inner, chunkSize: 2 ** 18 });
    const roots = await Promise.all(Array.from({ length: 8 }, () => writer.put(random(2 ** 21))));
    const treeOf = new Map<string, string>();
    for (const root of roots) {
      for await (const blob of writer.treeAddresses(root))
        if (blob !== root) treeOf.set(blob, root);
    }
    const inFlight: string[] = [];
    const stalled = Promise.withResolvers<void>();
    const most = { trees: 0, chunks: 0 };
    const backend: Backend = {
      ...inner,
      async get(name, ...given) {
        const tree = treeOf.get(name);
        if (tree !== undefined) {
          inFlight.push(tree);
          most.trees = Math.max(most.trees, new Set(inFlight).size);
          most.chunks = Math.max(most.chunks, inFlight.length);
          await stalled.promise;
          inFlight.splice(inFlight.indexOf(tree), 1);
        }
        return inner.get(name, ...given);
      },
    };
    const store = aliceStore({ backend });
    const all = roots.map((root) => store.verify(root, { deep: true }));
    await Bun.sleep(50);
    const controller = new AbortController();
    const late = store.verify(roots[0]!, { deep: true, signal: controller.signal });
    await Bun.sleep(10);
    controller.abort();
    expect(await outcome(late)).toBe("aborted");
    // Neither a blob nor a plain get waits for the trees.
    expect(await store.verify(roots[7]!)).toMatchObject({ kind: "root" });
    stalled.resolve();
    await Promise.all(all);
    expect(most).toEqual({ trees: 4, chunks: 16 });
  });

  test("is asked for many chunks at once by verify with complete, and by deleteTree", async () => {
    const inner = memory();
    const root = await aliceStore({ backend: inner, chunkSize: 2 ** 18 }).put(random(2 ** 24));
    for (const way of ["verify", "deleteTree"] as const) {
      const { backend, seen } = slow(inner, FAR);
      const store = aliceStore({ backend });
      if (way === "verify") await store.verify(root, { complete: true });
      else await store.deleteTree(root);
      expect(seen.most).toBeGreaterThan(8);
      expect(seen.most).toBeLessThanOrEqual(64);
    }
  });

  test("without ranges, is asked for four chunks at once by deleteTree, which reads them whole", async () => {
    const inner = memory();
    const root = await aliceStore({ backend: inner, chunkSize: 2 ** 18 }).put(random(2 ** 24));
    const { backend, seen } = slow(inner, FAR);
    const { getRange: _, ...withoutRanges } = backend;
    await aliceStore({ backend: withoutRanges }).deleteTree(root);
    expect(seen.most).toBe(4);
    expect(await Array.fromAsync(inner.list(""))).toEqual([]);
  });

  test("is asked for no more when it refuses requests", async () => {
    const inner = memory();
    const root = await aliceStore({ backend: inner, chunkSize: 2 ** 18 }).put(random(2 ** 24));
    for (const way of ["verify", "deleteTree"] as const) {
      const { backend, seen } = slow(inner);
      let refused = 0;
      const refuse = () => {
        if (seen.now < 6) return;
        refused += 1;
        throw new StorageError("unavailable", "slow down", { transient: true });
      };
      const refusing: Backend = {
        ...backend,
        head: (...given) => (refuse(), backend.head(...given)),
        getRange: (...given) => (refuse(), backend.getRange!(...given)),
        delete: (...given) => (refuse(), backend.delete(...given)),
      };
      const retrying = withRetry(refusing, { firstDelayMs: 1, maxDelayMs: 5 });
      const store = aliceStore({ backend: retrying });
      if (way === "verify") await store.verify(root, { complete: true });
      else await store.deleteTree(root);
      expect(refused).toBeLessThan(20);
    }
  });

  test("returns a blob that is longer than its caller says", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const root = await store.put(random(2 ** 17));
    expect(await store.verify(root, { size: 100 })).toMatchObject({ kind: "root" });
    await backend.put(root, (await bytesOf(backend, root)).with(2 ** 17, 1));
    expect(await outcome(store.verify(root, { size: 100 }))).toBe("address");
  });

  test("is asked for two at a time of those that are longer than their caller says", async () => {
    const inner = memory();
    const writer = aliceStore({ backend: inner });
    const roots = await Promise.all(Array.from({ length: 12 }, () => writer.put(random(2 ** 17))));
    let [now, most] = [0, 0];
    const get: Backend["get"] = async (name, buffer, ...given) => {
      if (buffer.length <= 2 ** 16) return inner.get(name, buffer, ...given);
      most = Math.max(most, ++now);
      await Bun.sleep(5);
      now -= 1;
      return inner.get(name, buffer, ...given);
    };
    const store = aliceStore({ backend: { ...inner, get } });
    await Promise.all(roots.map((root) => store.verify(root, { size: 100 })));
    expect(most).toBe(2);
  });

  test("has no more blobs in flight than the store allows, whatever their kind", async () => {
    const inner = memory();
    const writer = aliceStore({ backend: inner });
    const long = await Promise.all(Array.from({ length: 4 }, () => writer.put(random(2 ** 17))));
    const short = await Promise.all(Array.from({ length: 4 }, (_, i) => writer.put(`${i}`)));
    for (const concurrency of [1, 2]) {
      const { backend, seen } = slow(inner);
      const store = aliceStore({ backend, concurrency });
      await Promise.all([
        ...long.map((root) => store.verify(root)),
        ...short.map((root) => store.verify(root, { size: 2000 })),
        ...long.map((root) => store.verify(root, { deep: true })),
      ]);
      expect(seen.most).toBe(concurrency);
    }
  });

  test.each([Number.NaN, -1, 0.5, Infinity])("rejects the size %p", async (size) => {
    const backend = memory();
    const root = await aliceStore({ backend }).put("content");
    for (const way of [{}, { deep: true }, { serverChecksums: true }]) {
      const verifying = aliceStore({ backend }).verify(root, { size, ...way });
      expect(await outcome(verifying)).toBe("usage");
    }
  });
});
