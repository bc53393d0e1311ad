import { aliceStore, outcome, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import type { PutOptions } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

describe("metadata", () => {
  test("round-trips", async () => {
    const metadata = {
      name: "naïve 📄.txt",
      type: "text/plain",
      mtime: 1_700_000_000_000,
      bytes: Uint8Array.of(0, 255),
      largest: Number.MAX_SAFE_INTEGER,
      empty: "",
      constructor: "harmless",
    };
    const store = aliceStore();
    const blob = await store.get(await store.put("x", { metadata }));
    expect({ ...blob.metadata }).toEqual(metadata);
  });

  const refused: [string, Record<string, unknown>][] = [
    ["an empty key", { "": "x" }],
    ["a long key", { ["k".repeat(256)]: "x" }],
    ["a negative number", { n: -1 }],
    ["a fraction", { n: 0.5 }],
    ["a number past 2^53", { n: 2 ** 53 }],
    ["a boolean", { b: true }],
    ["null", { b: null }],
    ["a map", { b: {} }],
    ["a lone surrogate", { b: "\ud800" }],
    ["a name that is not text", { name: 5 }],
    ["a type that is not text", { type: Uint8Array.of(1) }],
    ["an mtime that is not a number", { mtime: "now" }],
    ["an encoding set by the caller", { enc: "zstd" }],
    ["a decoded length set by the caller", { len: 5 }],
    ["more than 65,536 bytes", { big: "x".repeat(65_536) }],
    ["entries in a Map", new Map([["name", "x"]]) as never],
  ];
  test.each(refused)("with %s is rejected", async (_, metadata) => {
    const put = aliceStore().put("x", { metadata } as PutOptions);
    expect(await outcome(put)).toBe("usage");
  });
});

describe("stat", () => {
  test("reports what is stored, to the byte", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: 256 * KiB });
    for (const size of [0, 1000, MiB, 3 * MiB + 1]) {
      const before = await storedBytes();
      const address = await store.put(random(size), { metadata: { name: "n" } });
      const stat = await store.stat(address);
      expect(stat).toMatchObject({ address, size, recipients: 1, metadata: { name: "n" } });
      expect(stat.storedBytes).toBe((await storedBytes()) - before);
    }

    async function storedBytes(): Promise<number> {
      let total = 0;
      for await (const { size } of backend.list("")) total += size;
      return total;
    }
  });
});
