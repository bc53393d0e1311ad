import { aliceStore, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { StorageError } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

describe("bytes()", () => {
  test("rejects more than its limit before fetching", async () => {
    const store = aliceStore();
    const blob = await store.get(await store.put("12345"));
    expect(await outcome(blob.bytes({ maxBytes: 4 }))).toBe("usage");
    expect(await outcome(blob.text({ maxBytes: 4 }))).toBe("usage");
    expect(await outcome(blob.bytes({ maxBytes: 5 }))).toBe("ok");
  });

  test("fills the caller's memory, and rejects too little of it", async () => {
    const store = aliceStore({ chunkSize: 256 * KiB });
    for (const size of [0, 5, 3 * MiB + 7]) {
      const content = random(size);
      const blob = await store.get(await store.put(content));
      const memoryOf = new Uint8Array(size + 20).fill(9);
      const into = memoryOf.subarray(10, 10 + size + 5);
      const result = await blob.bytes({ into });
      expect(result.buffer).toBe(memoryOf.buffer);
      expect(Buffer.compare(result, content)).toBe(0);
      expect(Buffer.compare(memoryOf.subarray(10, 10 + size), content)).toBe(0);
      expect(memoryOf.subarray(0, 10)).toEqual(new Uint8Array(10).fill(9));
      expect(memoryOf.subarray(10 + size)).toEqual(new Uint8Array(10).fill(9));
      if (size > 0) {
        expect(await outcome(blob.bytes({ into: new Uint8Array(size - 1) }))).toBe("usage");
      }
      const range = { start: Math.floor(size / 3), end: size };
      const part = await store.get(blob.address, { range });
      const there = await part.bytes({ into: new Uint8Array(size) });
      expect(Buffer.compare(there, content.subarray(range.start))).toBe(0);
    }
  });

  test("returns memory that nothing else uses", async () => {
    const store = aliceStore();
    const blob = await store.get(await store.put("original"));
    (await blob.bytes()).fill(0);
    expect(await blob.text()).toBe("original");
  });

  test.each([0, 2])(
    "leaves the caller's memory alone once it has failed, with %p threads",
    async (workers) => {
      const inner = memory();
      const late = Promise.withResolvers<void>();
      let failing: string | undefined;
      // Ignores signals and responds late.
      const get: typeof inner.get = async (name, buffer) => {
        if (name === failing) throw new StorageError("unavailable", "the store is gone");
        if (failing !== undefined && name !== address) await late.promise;
        return inner.get(name, buffer);
      };
      const store = aliceStore({ backend: { ...inner, get }, chunkSize: 256 * KiB, workers });
      const content = random(40 * MiB);
      const address = await store.put(content);
      const names: string[] = [];
      for await (const name of store.treeAddresses(address)) names.push(name);
      const blob = await store.get(address);
      // The threads are running by then.
      expect(Buffer.compare(await blob.bytes(), content)).toBe(0);
      [failing] = names;
      const into = new Uint8Array(content.length);
      expect(await outcome(blob.bytes({ into }))).toBe("unavailable");
      late.resolve();
      await Bun.sleep(50);
      expect(into.every((byte) => byte === 0)).toBe(true);
      await store.close();
    },
  );
});
