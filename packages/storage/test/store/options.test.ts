import { alice, aliceStore, outcome, random } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { StorageError, createStore } from "../../src/index.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

describe("options", () => {
  const outOfRange: [string, object][] = [
    ["a chunk size below 256 KiB", { chunkSize: 2 ** 17 }],
    ["a chunk size above 16 MiB", { chunkSize: 2 ** 25 }],
    ["a chunk size that is not a power of two", { chunkSize: 3 * 2 ** 18 }],
    ["a chunk size that is not a number", { chunkSize: Number.NaN }],
    ["no concurrency", { concurrency: 0 }],
    ["too much concurrency", { concurrency: 65 }],
    ["a fractional concurrency", { concurrency: 1.5 }],
    ["a short dedup secret", { dedupSecret: new Uint8Array(31) }],
    ["an unknown padding", { padding: "some" }],
  ];
  test.each(outOfRange)("%s: rejected by the store and by the call", async (_, options) => {
    expect(() => aliceStore(options)).toThrow(StorageError);
    expect(await outcome(aliceStore().put("x", options))).toBe("usage");
  });

  test("rejects content of an unsupported type, naming the type", async () => {
    for (const content of [undefined, null, 5, {}, [1, 2]]) {
      expect(await outcome(aliceStore().put(content as never))).toBe("usage");
    }
  });

  test("rejects text that cannot be encoded as UTF-8", async () => {
    expect(await outcome(aliceStore().put("half of a pair: \ud800"))).toBe("usage");
  });

  test("rejects a backend that is not one", () => {
    expect(() => aliceStore({ backend: "./blobs" as never })).toThrow("backend");
  });

  test("reports progress in bytes of content and in chunks", async () => {
    const size = 3 * MiB + 5;
    const store = aliceStore({ chunkSize: 256 * KiB });
    const seen: { bytes: number; total?: number; chunks: number }[] = [];
    const address = await store.put(random(size), { onProgress: (p) => seen.push(p) });
    expect(seen.map(({ bytes }) => bytes)).toEqual(
      seen.map(({ bytes }) => bytes).toSorted((a, b) => a - b),
    );
    expect(seen.at(-1)).toMatchObject({ bytes: size, total: size });
    expect(seen.length).toBe((await store.stat(address)).chunks);

    const read: { bytes: number; total?: number; chunks: number }[] = [];
    await (await store.get(address, { onProgress: (p) => read.push(p) })).bytes();
    expect(read.at(-1)).toMatchObject({ bytes: size, total: size, chunks: read.length });

    const checked: { bytes: number; total?: number; chunks: number }[] = [];
    const onProgress = (p: (typeof checked)[number]) => checked.push(p);
    await store.verify(address, { deep: true, onProgress });
    expect(checked).toEqual(read);
    await store.verify(address, { onProgress });
    expect(checked).toHaveLength(read.length);
  });

  test("rejects options that are not an object", async () => {
    const store = aliceStore();
    const address = await store.put("x");
    const wrong = [
      async () => store.put("x", null as never),
      async () => store.put("x", { recipients: alice.recipient as never }),
      async () => store.get(address, "options" as never),
      async () => store.get(address, { identities: alice as never }),
      async () => store.rewrap(address, alice.recipient as never),
      async () => (await store.get(address)).bytes({ maxBytes: Number.NaN }),
      async () => (await store.get(address)).bytes({ maxBytes: -1 }),
    ];
    for (const call of wrong) expect(await outcome(call())).toBe("usage");
    for (const options of [undefined, null, "./blobs", {}]) {
      expect(() => createStore(options as never)).toThrow(StorageError);
    }
  });
});
