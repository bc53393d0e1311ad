import { alice, aliceStore, drain, outcome, random, sha256 } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { type Backend, type ReadAt, loadNaCl } from "../../../src/index.ts";
import type { StoreContext } from "../../../src/store/context.ts";
import { createBufferPool } from "../../../src/store/buffers.ts";
import { memory } from "../../../src/backend/memory.ts";
import { publicKeyOf } from "../../../src/crypto/keys.ts";
import { writeRoot } from "../../../src/store/write/write-root.ts";
import { zstdCompressSync } from "node:zlib";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

/** A backend that records what is fetched. */
function counted() {
  const inner = memory();
  const fetched: string[] = [];
  const backend: Backend = {
    ...inner,
    async get(name, ...rest) {
      fetched.push(name);
      return inner.get(name, ...rest);
    },
  };
  return { backend, fetched };
}

describe("matchingPrefix", () => {
  const reading =
    (bytes: Uint8Array): ReadAt =>
    async (offset, into) => {
      const there = bytes.subarray(offset, offset + into.length);
      into.set(there);
      return there.length;
    };
  const sizes = [2 * MiB, 2 * MiB + 1, 3 * MiB - 1, 17 * MiB + 1];

  test.each(sizes)("matches whole chunks of %d bytes without fetching any", async (size) => {
    const { backend, fetched } = counted();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const content = random(size);
    const blob = await store.get(await store.put(content));
    fetched.length = 0;
    expect(await blob.matchingPrefix(reading(new Uint8Array(0)))).toBe(0);
    expect(await blob.matchingPrefix(reading(content.subarray(0, CHUNK - 1)))).toBe(0);
    expect(await blob.matchingPrefix(reading(content.subarray(0, CHUNK)))).toBe(CHUNK);
    expect(await blob.matchingPrefix(reading(content.subarray(0, 5 * CHUNK + 9)))).toBe(5 * CHUNK);
    expect(await blob.matchingPrefix(reading(content))).toBe(size);
    expect(
      await blob.matchingPrefix(reading(new Uint8Array([...content.subarray(0, CHUNK), 0]))),
    ).toBe(CHUNK);
    expect(fetched).toEqual([]);
  });

  test("ends at the first differing byte, even if the length is the same", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const content = random(2 * MiB + 1);
    const blob = await store.get(await store.put(content));
    for (const at of [0, CHUNK - 1, CHUNK, 3 * CHUNK + 5, 2 * MiB]) {
      const damaged = content.slice();
      damaged[at]! ^= 1;
      expect(await blob.matchingPrefix(reading(damaged))).toBe(at - (at % CHUNK));
    }
  });

  test("is where a stream can continue with the same result as a full read", async () => {
    const { backend, fetched } = counted();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const content = random(17 * MiB + 1);
    const blob = await store.get(await store.put(content));
    const leaves = (await store.stat(blob.address)).chunks;
    for (const start of [
      0,
      1,
      CHUNK,
      50 * CHUNK,
      50 * CHUNK + 7,
      content.length - 1,
      content.length,
    ]) {
      fetched.length = 0;
      const { bytes, error } = await drain(blob.stream({ start }));
      expect(error).toBeUndefined();
      expect(sha256(bytes)).toBe(sha256(content.subarray(start)));
      // To the end of the padding, which is checked too.
      expect(fetched.length).toBe(leaves - Math.floor(start / CHUNK));
    }
  });

  test("matches inline content as a whole or not at all", async () => {
    const store = aliceStore();
    const content = random(1000);
    const blob = await store.get(await store.put(content));
    expect(await blob.matchingPrefix(reading(content))).toBe(1000);
    expect(await blob.matchingPrefix(reading(content.subarray(0, 999)))).toBe(0);
    expect(await blob.matchingPrefix(reading(random(1000)))).toBe(0);
    expect((await drain(blob.stream({ start: 990 }))).bytes).toEqual(
      Buffer.from(content.subarray(990)),
    );
  });

  test("rejects a start outside the content or together with a range", async () => {
    const store = aliceStore();
    const address = await store.put(random(1000));
    const blob = await store.get(address);
    for (const start of [-1, 0.5, 1001, Number.NaN]) {
      expect(() => blob.stream({ start })).toThrow("range");
    }
    const part = await store.get(address, { range: { end: 10 } });
    expect(() => part.stream({ start: 1 })).toThrow("range");
    expect(await outcome(part.matchingPrefix(reading(new Uint8Array(10))))).toBe("usage");
  });

  test("stops when the signal of the get fires", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const content = random(2 * MiB);
    const abort = new AbortController();
    const blob = await store.get(await store.put(content), { signal: abort.signal });
    const read = reading(content);
    const stopping: ReadAt = async (offset, into) => {
      if (offset === 2 * CHUNK) abort.abort();
      return read(offset, into);
    };
    expect(await outcome(blob.matchingPrefix(stopping))).toBe("aborted");
  });
});

test("does not resume compressed content", async () => {
  const backend = memory();
  const content = Buffer.from("never twice the same. ".repeat(50));
  const body = new Uint8Array(zstdCompressSync(content));
  const address = await writeRoot(
    { backend, naCl: await loadNaCl(), writeBuffers: createBufferPool(() => 1) } as StoreContext,
    { publicKeys: [publicKeyOf(alice.recipient)], pad: true, dedupSecret: undefined },
    {
      depth: 0,
      chunkLog2: 0,
      contentLength: body.length,
      padding: 0,
      metadata: new Map<string, string | number>([
        ["enc", "zstd"],
        ["len", content.length],
      ]),
      body,
    },
    {},
  );
  const blob = await aliceStore({ backend }).get(address);
  expect(await blob.text()).toBe(content.toString());
  for (const mine of [content, body]) {
    const read: ReadAt = async (offset, into) => {
      const there = mine.subarray(offset, offset + into.length);
      into.set(there);
      return there.length;
    };
    expect(await blob.matchingPrefix(read)).toBe(0);
  }
  expect(() => blob.stream({ start: 1 })).toThrow("compressed");
});
