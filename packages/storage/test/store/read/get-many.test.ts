import { aliceStore, bob, codeOf, outcome, random, sha256 } from "../../support.ts";
import { counted, gated, putAll, settle } from "../many.ts";
import { describe, expect, test } from "bun:test";
import type { Backend } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

describe("getMany", () => {
  test("opens the given roots, each with its key", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const addresses = await putAll(store, 40);
    const large = random(MiB + 1);
    addresses.push(await store.put(large));
    const found = new Map<string, string>();
    for await (const result of store.getMany(addresses)) {
      if (!result.ok) throw result.error;
      found.set(result.key, sha256(await result.blob.bytes()));
    }
    expect(found.size).toBe(41);
    for (const [i, address] of addresses.slice(0, 40).entries()) {
      expect(found.get(address)).toBe(sha256(Buffer.from(`content ${i}`)));
    }
    expect(found.get(addresses[40]!)).toBe(sha256(large));
  });

  test("accepts ranges, and keys of any type", async () => {
    const store = aliceStore();
    const address = await store.put("0123456789");
    const items = [0, 1, 2].map((start) => ({
      key: Symbol.for(`${start}`),
      address,
      range: { start, end: start + 2 },
    }));
    const found = new Map<symbol, string>();
    for await (const result of store.getMany(items)) {
      if (result.ok) found.set(result.key, await result.blob.text());
    }
    expect([...found.values()].toSorted()).toEqual(["01", "12", "23"]);
    expect(found.get(Symbol.for("1"))).toBe("12");
  });

  test("continues after a failure, and uses the call's own identities", async () => {
    const store = aliceStore();
    const [good] = await putAll(store, 1);
    const mine = await store.put("x", { recipients: [bob.recipient] });
    const names = [good!, "nonsense", "0".repeat(64), mine];
    const outcomes = async (options = {}) =>
      Object.fromEntries(
        (await Array.fromAsync(store.getMany(names, options))).map((result) => [
          result.key,
          result.ok ? "ok" : codeOf(result.error),
        ]),
      );
    expect(await outcomes()).toEqual({
      [good!]: "ok",
      nonsense: "usage",
      ["0".repeat(64)]: "not-found",
      [mine]: "no-match",
    });
    expect(await outcomes({ identities: [bob] })).toMatchObject({
      [good!]: "no-match",
      [mine]: "ok",
    });
  });

  test("fails as a whole without an identity", async () => {
    const store = aliceStore({ identities: undefined });
    expect(await outcome(Array.fromAsync(store.getMany(["0".repeat(64)])))).toBe("usage");
  });

  test("pulls no more than its concurrency beyond the results taken", async () => {
    const store = aliceStore();
    const [address] = await putAll(store, 1);
    const { seen, items } = counted(100, () => address!);
    const results = store.getMany(items, { concurrency: 3 })[Symbol.asyncIterator]();
    for (let taken = 1; taken <= 10; taken++) {
      await results.next();
      await settle();
      expect(seen.pulled).toBeGreaterThanOrEqual(taken);
      expect(seen.pulled).toBeLessThanOrEqual(taken + 3);
    }
    await results.return?.();
    expect(seen.ended).toBe(true);
  });

  test("yields blobs that outlive the loop, and end with the caller's signal", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const large = random(MiB + 1);
    const address = await store.put(large);
    const controller = new AbortController();
    const open = async () => {
      for await (const result of store.getMany([address], { signal: controller.signal })) {
        if (result.ok) return result.blob;
      }
      throw new Error("nothing was opened");
    };
    const blob = await open();
    expect(sha256(await blob.bytes())).toBe(sha256(large));
    controller.abort();
    expect(await outcome(blob.bytes())).toBe("aborted");
  });

  test("ends the work at once if the loop is left early, and when the signal fires", async () => {
    const inner = memory();
    const addresses = await putAll(aliceStore({ backend: inner }), 10);
    const { backend, waiting } = gated(inner);
    const store = aliceStore({ backend });
    setTimeout(() => waiting[0]!.open(), 5);
    for await (const { ok } of store.getMany(addresses, { concurrency: 4 })) {
      expect(ok).toBe(true);
      break;
    }
    expect(waiting.length).toBeLessThanOrEqual(5);
    const controller = new AbortController();
    const all = outcome(Array.fromAsync(store.getMany(addresses, { signal: controller.signal })));
    await settle();
    controller.abort();
    expect(await all).toBe("aborted");
  });

  test("allows any number of reads of small content without another request", async () => {
    const inner = memory();
    let gets = 0;
    const backend: Backend = {
      ...inner,
      get: async (...given) => {
        gets += 1;
        return inner.get(...given);
      },
    };
    const store = aliceStore({ backend });
    const addresses = await putAll(store, 20);
    const results = await Array.fromAsync(store.getMany(addresses));
    for (const result of results) {
      if (!result.ok) throw result.error;
      const content = await result.blob.text();
      expect(content).toStartWith("content ");
      expect(await result.blob.text()).toBe(content);
    }
    expect(gets).toBe(20);
  });
});
