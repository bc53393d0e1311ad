import {
  alice,
  aliceStore,
  codeOf,
  drain,
  encodedRoot,
  nacl,
  random,
  sha256,
} from "../../support.ts";
import {
  type StoredContent,
  type StreamOptions,
  loadNaCl,
  publicKeyOf,
} from "../../../src/index.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";
import { randomKey } from "../../../src/crypto/key-schedule.ts";
import { sealRoot } from "../../../src/crypto/seal.ts";
import { watched } from "../watched.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

type Way = (blob: StoredContent, options: StreamOptions) => Promise<number>;

/** Reads content, and returns its length. */
const WAYS: [name: string, read: Way][] = [
  [
    "stream",
    async (blob, options) => {
      const { bytes, error } = await drain(blob.stream(options));
      if (error instanceof Error) throw error;
      return bytes.length;
    },
  ],
  [
    "chunks",
    async (blob, options) => {
      let length = 0;
      for await (const chunk of blob.chunks(options)) length += chunk.length;
      return length;
    },
  ],
];

describe.each(WAYS)("%s()", (_, read) => {
  const over = (blob: StoredContent, options: StreamOptions) => read(blob, options).catch(codeOf);

  test("rejects more than maxBytes before it fetches anything", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const length = 2 * MiB + 5;
    const address = await store.put(random(length));
    const blob = await store.get(address);
    forget();
    expect(await over(blob, { maxBytes: length - 1 })).toBe("usage");
    expect(await over(blob, { maxBytes: 0 })).toBe("usage");
    expect(calls.get).toEqual([]);
    expect(await over(blob, { maxBytes: length })).toBe(length);
    expect(await over(blob, {})).toBe(length);
    // What is left from the start on is what counts.
    expect(await over(blob, { start: 100, maxBytes: length - 100 })).toBe(length - 100);
    expect(await over(blob, { start: 100, maxBytes: length - 101 })).toBe("usage");
    const part = await store.get(address, { range: { start: 7, end: 17 } });
    expect(await over(part, { maxBytes: 10 })).toBe(10);
    expect(await over(part, { maxBytes: 9 })).toBe("usage");
  });

  test("counts compressed content as decompressed", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, compression: "zstd", chunkSize: CHUNK });
    const length = 64 * MiB;
    const blob = await store.get(await store.put(new Uint8Array(length)));
    forget();
    expect(await over(blob, { maxBytes: length - 1 })).toBe("usage");
    expect(calls.get).toEqual([]);
    expect(await over(blob, { maxBytes: length })).toBe(length);
  });

  test("rejects a length that metadata only claims", async () => {
    const backend = memory();
    const plaintext = encodedRoot(
      {
        depth: 0,
        chunkLog2: 0,
        contentLength: 10,
        padding: 0,
        metadata: new Map<string, string | number>([
          ["enc", "zstd"],
          ["len", Number.MAX_SAFE_INTEGER],
        ]),
        body: random(10),
      },
      false,
    );
    const keys = { contentKey: randomKey(), ephemeralSecret: randomKey() };
    const root = sealRoot(await loadNaCl(nacl), keys, [publicKeyOf(alice.recipient)], plaintext);
    await backend.put(sha256(root), root);
    const blob = await aliceStore({ backend }).get(sha256(root));
    expect(await over(blob, { maxBytes: 2 ** 40 })).toBe("usage");
    expect(await over(blob, {})).toBe("encoding");
  });

  test("rejects a maxBytes that is no length", async () => {
    const store = aliceStore();
    const blob = await store.get(await store.put("12345"));
    for (const maxBytes of [-1, 0.5, Number.NaN, 2 ** 53, "5" as never]) {
      expect(await over(blob, { maxBytes })).toBe("usage");
    }
  });
});
