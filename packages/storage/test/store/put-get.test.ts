import { aliceStore, drain, nacl, outcome, random, sha256 } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { type Content, type NaCl, loadNaCl } from "../../src/index.ts";
import { join } from "node:path";
import { memory } from "../../src/backend/memory.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";

const KiB = 1024;
const MiB = 1024 * KiB;

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += length) yield bytes.subarray(i, i + length);
}

describe("content round-trips", () => {
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

  test("for every chunk size, one byte either side of a chunk boundary", async () => {
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
  test.each(contents)("if passed as %s", async (_, content) => {
    const store = aliceStore();
    const blob = await store.get(await store.put(await content()));
    expect(await blob.text()).toBe(text);
  });

  test("if passed as a long stream of unknown length, in pieces of any size", async () => {
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
  ] as const)("if a producer reuses one %s for all its pieces", async (_, allocate) => {
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

test("if passed as a stream of single bytes and empty pieces", async () => {
  async function* trickle(): AsyncGenerator<Uint8Array> {
    const byte = Uint8Array.of(7);
    const nothing = new Uint8Array(0);
    for (let i = 0; i < 200_000; i++) yield i % 2 === 0 ? byte : nothing;
  }
  const store = aliceStore();
  const blob = await store.get(await store.put(trickle()));
  expect(Buffer.compare(await blob.bytes(), Buffer.alloc(100_000, 7))).toBe(0);
});

test("with the byte order mark of a text", async () => {
  const store = aliceStore();
  const text = "\ufeffhi";
  expect(await (await store.get(await store.put(text))).text()).toBe(text);
});

test("rejects content that shrinks while it is read", async () => {
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

test("ends a put when the signal fires, even if its source always has data", async () => {
  async function* nothing(): AsyncGenerator<Uint8Array> {
    for (;;) yield new Uint8Array(0);
  }
  const signal = AbortSignal.timeout(50);
  expect(await outcome(aliceStore().put(nothing(), { signal }))).toBe("aborted");
});

test("seals nothing from memory that others can change with a dedup secret", async () => {
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
