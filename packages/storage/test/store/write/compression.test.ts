import { alice, aliceStore, bob, codeOf, drain, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import type { LeafReference, Progress, PutJournal } from "../../../src/index.ts";
import fc from "fast-check";
import { memory } from "../../../src/backend/memory.ts";
import { prose } from "../../content/compression/frames.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const CHUNK = 256 * KIB;
const CODECS = ["zstd", "lz4"] as const;

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += length) yield bytes.subarray(i, i + length);
}

/** Half text, half noise. */
function mixed(length: number): Uint8Array {
  return Buffer.concat([prose(length >>> 1), random(length - (length >>> 1))]);
}

describe.each(CODECS)("put with %s", (compression) => {
  const sizes = [0, 1, MIB - 1, MIB, MIB + 1, 4 * CHUNK - 1, 4 * CHUNK, 4 * CHUNK + 1, 5 * MIB + 7];
  const kinds = { text: prose, noise: random, both: mixed };
  for (const [kind, make] of Object.entries(kinds)) {
    test.each(sizes)(`%d bytes of ${kind} come back, and say how they are stored`, async (size) => {
      const content = make(size);
      for (const dedupSecret of [undefined, random(32)]) {
        const store = aliceStore({ chunkSize: CHUNK, compression, dedupSecret });
        const address = await store.put(inPieces(content, 100_003), { metadata: { name: "n" } });
        const blob = await store.get(address);
        expect({ ...blob.metadata }).toEqual({ name: "n", enc: compression, len: size });
        expect(blob.size).toBe(size);
        expect(sha256(await blob.bytes())).toBe(sha256(content));
        const streamed = await drain(blob.stream());
        expect(streamed.error).toBeUndefined();
        expect(sha256(streamed.bytes)).toBe(sha256(content));
        const { encodedSize } = await store.stat(address);
        if (kind === "text" && size > 1000) expect(encodedSize).toBeLessThan(size / 2);
        else expect(encodedSize).toBeLessThan(size + size / 1000 + 32);
        expect(await store.verify(address, { deep: true })).toBeDefined();
      }
    });
  }

  test("stores incompressible content of the inline limit in a tree, and much longer text inline", async () => {
    const store = aliceStore({ compression });
    expect(await store.stat(await store.put(random(MIB)))).toMatchObject({ depth: 1, size: MIB });
    const zeros = new Uint8Array(20 * MIB);
    expect(await store.stat(await store.put(zeros))).toMatchObject({ depth: 0, size: 20 * MIB });
  });

  test("gives the same address under a dedup secret, however the content is passed", async () => {
    const store = aliceStore({ chunkSize: CHUNK, compression, dedupSecret: random(32) });
    const content = mixed(4 * MIB);
    const address = await store.put(content);
    for (const length of [1000, 65_537, 4 * MIB]) {
      expect(await store.put(inPieces(content, length))).toBe(address);
    }
  });

  test("keeps the encoding in a rewrap", async () => {
    const store = aliceStore({ compression, identities: [alice, bob] });
    const content = prose(3 * MIB);
    const shared = await store.rewrap(await store.put(content), [bob.recipient]);
    const blob = await store.get(shared, { identities: [bob] });
    expect(blob.metadata).toMatchObject({ enc: compression, len: content.length });
    expect(sha256(await blob.bytes())).toBe(sha256(content));
  });

  test("reports progress in bytes of the caller's content", async () => {
    const store = aliceStore({ chunkSize: CHUNK, compression });
    for (const content of [mixed(6 * MIB), random(3 * MIB), prose(9 * MIB), prose(1000)]) {
      const seen: Progress[] = [];
      const address = await store.put(content, { onProgress: (progress) => seen.push(progress) });
      const bytes = seen.map((progress) => progress.bytes);
      expect(bytes).toEqual(bytes.toSorted((a, b) => a - b));
      expect(seen.at(-1)).toMatchObject({ bytes: content.length, total: content.length });
      expect(seen.length).toBe(Math.max(1, (await store.stat(address)).chunks));
    }
  });

  test("passes on the error of the content's own stream unchanged", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK, compression });
    const broken = new Error("the disk went away");
    for (const length of [10, 3 * MIB]) {
      async function* failing() {
        yield random(length);
        throw broken;
      }
      expect(await store.put(failing()).catch((error: unknown) => error)).toBe(broken);
    }
    for await (const { name } of backend.list("")) {
      expect((await store.verify(name)).kind).toBe("child");
    }
  });

  test("stops reading the content if an upload fails, and reports why", async () => {
    const full = new Error("full");
    let closed = false;
    let given = 0;
    // Far more than is read, but finite, so that a bug does not exhaust the machine's memory.
    async function* long() {
      try {
        for (; given < 64 * MIB; given += 64 * KIB) yield random(64 * KIB);
      } finally {
        closed = true;
      }
    }
    const backend = { ...memory(), put: () => Promise.reject(full) };
    const store = aliceStore({ backend, chunkSize: CHUNK, compression });
    expect(await store.put(long()).catch((error: unknown) => error)).toBe(full);
    for (let turns = 0; !closed && turns < 1000; turns++) await Bun.sleep(1);
    expect(closed).toBe(true);
    expect(given).toBeLessThan(16 * MIB);
  });

  test("ends when the signal fires", async () => {
    const controller = new AbortController();
    let given = 0;
    async function* slow() {
      for (; given < 32 * MIB; given += 64 * KIB) {
        yield random(64 * KIB);
        await Bun.sleep(1);
      }
    }
    const store = aliceStore({ chunkSize: CHUNK, compression });
    const onProgress = () => controller.abort();
    expect(await outcome(store.put(slow(), { signal: controller.signal, onProgress }))).toBe(
      "aborted",
    );
  });

  test("reads content no faster than it is stored", async () => {
    let given = 0;
    let stored = 0;
    const length = 48 * MIB;
    async function* counted() {
      for (; given < length; given += 64 * KIB) yield random(64 * KIB);
    }
    const inner = memory();
    let ahead = 0;
    const backend = {
      ...inner,
      put: async (...args: Parameters<typeof inner.put>) => {
        await Bun.sleep(1);
        ahead = Math.max(ahead, given - stored);
        await inner.put(...args);
        stored += args[1].length;
      },
    };
    const store = aliceStore({ backend, chunkSize: CHUNK, compression, concurrency: 2 });
    await store.put(counted());
    expect(stored).toBeGreaterThanOrEqual(length);
    // The inline limit, the chunks in flight, and a few blocks in the codec.
    expect(ahead).toBeLessThan(8 * MIB);
  });
});

test("resumes an interrupted put without resending the leaves in the journal", async () => {
  const content = mixed(6 * MIB);
  for (const compression of CODECS) {
    const inner = memory();
    let sent = 0;
    let room = 5;
    const backend = {
      ...inner,
      put: async (...args: Parameters<typeof inner.put>) => {
        if (room-- === 0) throw new Error("cut off");
        sent += 1;
        await inner.put(...args);
      },
    };
    const store = aliceStore({ backend, chunkSize: CHUNK, compression, concurrency: 1 });
    const noted = new Map<number, LeafReference>();
    const journal: PutJournal = {
      known: async (index) => noted.get(index),
      stored: async (index, leaf) => void noted.set(index, leaf),
    };
    expect(await outcome(store.put(content, { journal }))).not.toBe("ok");
    expect(noted.size).toBe(5);
    sent = 0;
    room = 1000;
    const address = await store.put(inPieces(content, 12_345), { journal });
    const { chunks } = await store.stat(address);
    // The leaves that were missing, and the root.
    expect(sent).toBe(chunks - 5 + 1);
    expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
  }
});

describe("put with auto", () => {
  test("writes no encoding if compression does not save enough", async () => {
    const store = aliceStore({ compression: "auto" });
    for (const content of [new Uint8Array(0), random(10), random(MIB), random(3 * MIB)]) {
      const address = await store.put(content);
      const stat = await store.stat(address);
      expect({ ...stat.metadata }).toEqual({});
      expect(stat.encodedSize).toBeUndefined();
      expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
    }
    const ranged = await store.get(await store.put("0123456789"), { range: { start: 3, end: 5 } });
    expect(await ranged.text()).toBe("34");
  });

  test("gives the address of uncompressed content if it does not compress", async () => {
    const store = aliceStore({ dedupSecret: random(32) });
    const content = random(2 * MIB);
    expect(await store.put(content, { compression: "auto" })).toBe(await store.put(content));
  });
});

test("round-trips any content with any compression", async () => {
  const property = fc.asyncProperty(
    fc.record({
      compression: fc.constantFrom("zstd" as const, "lz4" as const, "auto" as const),
      runs: fc.array(
        fc.oneof(
          fc.nat({ max: 700 * KIB }).map((length) => random(length)),
          fc.nat({ max: 700 * KIB }).map((length) => prose(length)),
          fc.nat({ max: 3 * MIB }).map((length) => new Uint8Array(length)),
        ),
        { maxLength: 5 },
      ),
      piece: fc.integer({ min: 1000, max: 2 * MIB }),
      convergent: fc.boolean(),
      padding: fc.constantFrom("padme" as const, "none" as const),
    }),
    async ({ compression, runs, piece, convergent, padding }) => {
      const bytes = Buffer.concat(runs);
      const store = aliceStore({
        chunkSize: CHUNK,
        padding,
        compression,
        dedupSecret: convergent ? new Uint8Array(32) : undefined,
      });
      const blob = await store.get(await store.put(inPieces(bytes, piece)));
      expect(blob.size).toBe(bytes.length);
      expect(Buffer.compare(await blob.bytes(), bytes)).toBe(0);
    },
  );
  await fc.assert(property, { numRuns: 40 });
}, 60_000);

function unreadable(): ReadableStream<Uint8Array> {
  const pull = () => {
    throw new Error("it was read");
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

describe("rejects", () => {
  test("an unknown compression, by the store and by the call", async () => {
    for (const compression of ["gzip", "", true, null, "constructor"]) {
      expect(() => aliceStore({ compression: compression as never })).toThrow(
        "compression must be",
      );
      const call = aliceStore().put("x", { compression: compression as never });
      expect(await outcome(call)).toBe("usage");
    }
  });

  test.each(["enc", "len"])("the caller's own %s, before anything is read", async (key) => {
    for (const compression of ["zstd", "lz4", "auto", "none"] as const) {
      const metadata = { [key]: key === "enc" ? "zstd" : 5 };
      const error = await aliceStore()
        .put(unreadable(), { compression, metadata })
        .catch((thrown: unknown) => thrown);
      expect([codeOf(error), String(error)]).toEqual(["usage", expect.stringContaining(key)]);
    }
  });

  test("metadata that leaves no room for the encoding, before anything is read", async () => {
    // 65,536 bytes encoded: a map, "k", and a text with a head of three bytes.
    const metadata = { k: "v".repeat(65_536 - 1 - 2 - 3) };
    const store = aliceStore();
    expect(await outcome(store.put("x", { metadata }))).toBe("ok");
    expect(await outcome(store.put(unreadable(), { metadata, compression: "zstd" }))).toBe("usage");
  });

  test("a range of compressed content", async () => {
    const store = aliceStore({ compression: "zstd" });
    const address = await store.put(prose(3 * MIB));
    expect(await outcome(store.get(address, { range: { start: 0, end: 1 } }))).toBe("usage");
  });
});

test("does not compress by default, with or without a dedup secret", async () => {
  for (const dedupSecret of [undefined, random(32)]) {
    const store = aliceStore({ dedupSecret });
    const stat = await store.stat(await store.put(prose(2 * MIB)));
    expect(stat.metadata["enc"]).toBeUndefined();
    expect(stat).toMatchObject({ size: 2 * MIB, depth: 1 });
  }
  const compressing = aliceStore({ compression: "zstd" });
  const plain = await compressing.put(prose(1000), { compression: "none" });
  expect((await compressing.stat(plain)).encodedSize).toBeUndefined();
});
