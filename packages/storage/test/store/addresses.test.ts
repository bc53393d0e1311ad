import { aliceStore, bob, outcome, random } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../src/backend/memory.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

describe("addresses", () => {
  test("differ for equal content", async () => {
    const store = aliceStore();
    expect(await store.put("same")).not.toBe(await store.put("same"));
  });

  test("are equal for equal content under one dedup secret, and differ under another", async () => {
    const content = random(2 * MiB);
    const [first, second] = [random(32), random(32)];
    const backend = memory();
    const put = async (dedupSecret: Uint8Array) =>
      aliceStore({ backend, dedupSecret, chunkSize: 256 * KiB }).put(content);
    const address = await put(first);
    const stored = (await Array.fromAsync(backend.list(""))).length;
    expect(await put(first)).toBe(address);
    expect((await Array.fromAsync(backend.list(""))).length).toBe(stored);
    expect(await put(second)).not.toBe(address);
    expect((await Array.fromAsync(backend.list(""))).length).toBe(2 * stored);
  });

  test.each(["", "abc", "g".repeat(64), "A".repeat(64), `${"a".repeat(64)}/`])(
    "are rejected if malformed: %p",
    async (address) => {
      const store = aliceStore();
      for (const call of [store.get, store.stat, store.has, store.delete, store.verify]) {
        expect(await outcome(call(address))).toBe("usage");
      }
      expect(await outcome(store.rewrap(address, [bob.recipient]))).toBe("usage");
      expect(await outcome(store.reseal(address, [bob.recipient]))).toBe("usage");
      expect(await outcome(store.deleteTree(address))).toBe("usage");
    },
  );

  test("are not found for a missing blob", async () => {
    const store = aliceStore();
    const address = "0".repeat(64);
    expect(await store.has(address)).toBe(false);
    for (const call of [store.get, store.stat, store.verify, store.deleteTree]) {
      expect(await outcome(call(address))).toBe("not-found");
    }
  });
});
