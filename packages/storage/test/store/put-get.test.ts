import { alice, aliceStore, bob, drain, nacl, outcome, random, sha256 } from "../support.ts";
import { describe, expect, test } from "bun:test";
import {
  type Content,
  type NaCl,
  type PutOptions,
  StorageError,
  createStore,
  loadNaCl,
} from "../../src/index.ts";
import { join } from "node:path";
import { memory } from "../../src/backend/memory.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";

const KiB = 1024;
const MiB = 1024 * KiB;

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += length) yield bytes.subarray(i, i + length);
}

describe("what was put comes back", () => {
  const C = 256 * KiB;
  const sizes = [
    0,
    1,
    59,
    65_536,
    MiB - 1,
    MiB,
    MiB + 1,
    5 * C - 1,
    5 * C,
    5 * C + 1,
    9 * C + 12_345,
  ];
  for (const dedupSecret of [undefined, random(32)]) {
    for (const padding of ["padme", "none"] as const) {
      const mode = `${dedupSecret ? "convergent" : "random"}, padding ${padding}`;
      test.each(sizes)(`%d bytes, ${mode}`, async (size) => {
        const content = random(size);
        const store = aliceStore({ chunkSize: C, padding, dedupSecret });
        const blob = await store.get(await store.put(content));
        expect(blob.size).toBe(size);
        expect(sha256(await blob.bytes())).toBe(sha256(content));
        const streamed = await drain(blob.stream());
        expect(streamed.error).toBeUndefined();
        expect(sha256(streamed.bytes)).toBe(sha256(content));
      });
    }
  }

  test("in every chunk size of the format, one byte either side of a chunk's end", async () => {
    for (let log2 = 18; log2 <= 24; log2++) {
      for (const size of [2 ** log2 - 1, 2 ** log2, 2 ** log2 + 1]) {
        const content = random(size);
        const store = aliceStore({ chunkSize: 2 ** log2, nacl: "auto" });
        const blob = await store.get(await store.put(content));
        expect(sha256(await blob.bytes())).toBe(sha256(content));
      }
    }
  });

  const text = "grüße, 世界 🌍";
  const bytes = new TextEncoder().encode(text);
  const file = join(mkdtempSync(join(tmpdir(), "idk-test-")), "content");
  const contents: [string, () => Content | Promise<Content>][] = [
    ["a text", () => text],
    ["bytes", () => bytes],
    ["a view of bytes", () => new Uint8Array([0, ...bytes, 0]).subarray(1, -1)],
    ["a Blob", () => new Blob([bytes])],
    ["a web stream", () => new Blob([bytes]).stream()],
    ["a generator", () => inPieces(bytes, 3)],
    ["one byte at a time", () => inPieces(bytes, 1)],
    ["a file", async () => (await Bun.write(file, bytes), Bun.file(file))],
  ];
  test.each(contents)("given as %s", async (_, content) => {
    const store = aliceStore();
    const blob = await store.get(await store.put(await content()));
    expect(await blob.text()).toBe(text);
  });

  test("given as a long stream of unknown length, in pieces of any size", async () => {
    const content = random(3 * MiB + 7);
    for (const length of [1000, 65_537, MiB, 3 * MiB]) {
      const store = aliceStore({ chunkSize: 256 * KiB });
      const blob = await store.get(await store.put(inPieces(content, length)));
      expect(sha256(await blob.bytes())).toBe(sha256(content));
    }
  });

  test.each([
    ["Uint8Array", () => new Uint8Array(100_000)],
    ["Buffer", () => Buffer.alloc(100_000)],
  ] as const)("given by a producer that uses one %s for all its pieces", async (_, allocate) => {
    async function* reusing(): AsyncGenerator<Uint8Array> {
      const buffer = allocate();
      for (let i = 0; i < 30; i++) yield buffer.fill(i);
    }
    const expected = Buffer.concat(Array.from({ length: 30 }, (_, i) => Buffer.alloc(100_000, i)));
    for (const chunkSize of [256 * KiB, 4 * MiB]) {
      const store = aliceStore({ chunkSize });
      const blob = await store.get(await store.put(reusing()));
      expect(sha256(await blob.bytes())).toBe(sha256(expected));
    }
  });
});

test("a stream of single bytes and of empty pieces is stored like any other", async () => {
  async function* trickle(): AsyncGenerator<Uint8Array> {
    const byte = Uint8Array.of(7);
    const nothing = new Uint8Array(0);
    for (let i = 0; i < 200_000; i++) yield i % 2 === 0 ? byte : nothing;
  }
  const store = aliceStore();
  const blob = await store.get(await store.put(trickle()));
  expect(Buffer.compare(await blob.bytes(), Buffer.alloc(100_000, 7))).toBe(0);
});

test("a signal ends a put whose source always has something at hand", async () => {
  async function* nothing(): AsyncGenerator<Uint8Array> {
    for (;;) yield new Uint8Array(0);
  }
  const signal = AbortSignal.timeout(50);
  expect(await outcome(aliceStore().put(nothing(), { signal }))).toBe("aborted");
});

describe("metadata", () => {
  test("comes back as it was given", async () => {
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
    ["a name that is no text", { name: 5 }],
    ["a type that is no text", { type: Uint8Array.of(1) }],
    ["an mtime that is no number", { mtime: "now" }],
    ["an encoding of the caller's", { enc: "zstd" }],
    ["a decoded length of the caller's", { len: 5 }],
    ["more than 65,536 bytes", { big: "x".repeat(65_536) }],
    ["entries in a Map", new Map([["name", "x"]]) as never],
  ];
  test.each(refused)("with %s is refused", async (_, metadata) => {
    const put = aliceStore().put("x", { metadata } as PutOptions);
    expect(await outcome(put)).toBe("usage");
  });
});

describe("recipients", () => {
  test("all of them read, and nobody else", async () => {
    const store = aliceStore({ recipients: [alice.recipient, bob.recipient] });
    const address = await store.put("for two");
    for (const identity of [alice, bob]) {
      const blob = await store.get(address, { identities: [identity] });
      expect(await blob.text()).toBe("for two");
    }
    const forAlice = await store.put("for one", { recipients: [alice.recipient] });
    expect(await outcome(store.get(forAlice, { identities: [bob] }))).toBe("no-match");
  });

  test("named twice count once, in any order", async () => {
    const dedupSecret = random(32);
    const store = aliceStore({ dedupSecret });
    const once = await store.put("x", { recipients: [alice.recipient, bob.recipient] });
    const twice = await store.put("x", {
      recipients: [bob.recipient, alice.recipient, bob.recipient],
    });
    expect(twice).toBe(once);
    expect((await store.stat(once)).recipients).toBe(2);
  });

  test("a writer needs no identity", async () => {
    const backend = memory();
    const writer = aliceStore({ backend, identities: undefined });
    const address = await writer.put("dropped off");
    expect(await outcome(writer.get(address))).toBe("usage");
    expect(await (await aliceStore({ backend }).get(address)).text()).toBe("dropped off");
  });

  test("none is refused, and so is one that is malformed", async () => {
    expect(await outcome(aliceStore({ recipients: undefined }).put("x"))).toBe("usage");
    expect(await outcome(aliceStore().put("x", { recipients: [] }))).toBe("usage");
    expect(await outcome(aliceStore().put("x", { recipients: ["idk1nonsense"] }))).toBe("key");
  });
});

test("with a dedup secret nothing is sealed from memory that others can change", async () => {
  const inner = await loadNaCl(nacl);
  const content = new Uint8Array(new SharedArrayBuffer(3 * MiB));
  const sealedFrom = new Set<ArrayBufferLike>();
  const spy: NaCl = {
    ...inner,
    seal(box, message, nonce, key) {
      sealedFrom.add(message.buffer);
      inner.seal(box, message, nonce, key);
    },
  };
  const put = async (dedupSecret: Uint8Array | undefined) => {
    sealedFrom.clear();
    await aliceStore({ nacl: spy, chunkSize: 256 * KiB, dedupSecret }).put(content);
  };
  await put(undefined);
  expect(sealedFrom.has(content.buffer)).toBe(true);
  await put(random(32));
  expect(sealedFrom.has(content.buffer)).toBe(false);
});

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

describe("options", () => {
  const outOfRange: [string, object][] = [
    ["a chunk size below 256 KiB", { chunkSize: 2 ** 17 }],
    ["a chunk size above 16 MiB", { chunkSize: 2 ** 25 }],
    ["a chunk size that is no power of two", { chunkSize: 3 * 2 ** 18 }],
    ["a chunk size that is no number", { chunkSize: Number.NaN }],
    ["no concurrency", { concurrency: 0 }],
    ["too much concurrency", { concurrency: 65 }],
    ["a fraction of concurrency", { concurrency: 1.5 }],
    ["a short dedup secret", { dedupSecret: new Uint8Array(31) }],
    ["an unknown padding", { padding: "some" }],
  ];
  test.each(outOfRange)("with %s are refused by the store and by the call", async (_, options) => {
    expect(() => aliceStore(options)).toThrow(StorageError);
    expect(await outcome(aliceStore().put("x", options))).toBe("usage");
  });

  test("content of another type is refused by name", async () => {
    for (const content of [undefined, null, 5, {}, [1, 2]]) {
      expect(await outcome(aliceStore().put(content as never))).toBe("usage");
    }
  });

  test("a text that has no UTF-8 is refused rather than altered", async () => {
    expect(await outcome(aliceStore().put("half of a pair: \ud800"))).toBe("usage");
  });

  test("a backend that is none is refused", () => {
    expect(() => aliceStore({ backend: "./blobs" as never })).toThrow("backend");
  });

  test("progress counts content up to its length, and every chunk", async () => {
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
  });

  test("of the wrong kind altogether are refused as such", async () => {
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

  test("a text keeps its byte order mark", async () => {
    const store = aliceStore();
    const text = "\ufeffhi";
    expect(await (await store.get(await store.put(text))).text()).toBe(text);
  });

  test("content that shrinks while it is read is refused", async () => {
    const memoryOf = new ArrayBuffer(2 * MiB, { maxByteLength: 2 * MiB });
    const backend = memory();
    const shrinking = {
      ...backend,
      put: async (...call: Parameters<typeof backend.put>) => {
        memoryOf.resize(0);
        await backend.put(...call);
      },
    };
    const store = aliceStore({ backend: shrinking, chunkSize: 256 * KiB, concurrency: 1 });
    expect(await outcome(store.put(new Uint8Array(memoryOf)))).toBe("usage");
  });

  test("bytes() refuses more than its limit before it fetches", async () => {
    const store = aliceStore();
    const blob = await store.get(await store.put("12345"));
    expect(await outcome(blob.bytes({ maxBytes: 4 }))).toBe("usage");
    expect(await outcome(blob.text({ maxBytes: 4 }))).toBe("usage");
    expect(await outcome(blob.bytes({ maxBytes: 5 }))).toBe("ok");
  });

  test("bytes() fills the caller's memory, and refuses too little of it", async () => {
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

  test("what bytes() gives away is nobody else's", async () => {
    const store = aliceStore();
    const blob = await store.get(await store.put("original"));
    (await blob.bytes()).fill(0);
    expect(await blob.text()).toBe("original");
  });
});

describe("stat", () => {
  test("says what is stored, to the byte", async () => {
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
