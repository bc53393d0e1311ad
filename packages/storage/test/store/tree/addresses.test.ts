import { aliceStore, bob, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

describe("addresses", () => {
  test("of equal content are unrelated", async () => {
    const store = aliceStore();
    expect(await store.put("same")).not.toBe(await store.put("same"));
  });

  test("of equal content are equal under one dedup secret, and unrelated under another", async () => {
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
    "of a wrong form are refused: %p",
    async (address) => {
      const store = aliceStore();
      for (const call of [store.get, store.stat, store.has, store.delete, store.verify]) {
        expect(await outcome(call(address))).toBe("usage");
      }
      expect(await outcome(store.rewrap(address, [bob.recipient]))).toBe("usage");
      expect(await outcome(store.deleteTree(address))).toBe("usage");
    },
  );

  test("of a missing blob are not found", async () => {
    const store = aliceStore();
    const address = "0".repeat(64);
    expect(await store.has(address)).toBe(false);
    for (const call of [store.get, store.stat, store.verify, store.deleteTree]) {
      expect(await outcome(call(address))).toBe("not-found");
    }
  });
});
