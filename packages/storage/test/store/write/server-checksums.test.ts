import { type Backend, StorageError, loadNaCl } from "../../../src/index.ts";
import { CAPABILITIES, attesting } from "../../backend/attesting.ts";
import { aliceStore, bob, nacl, outcome, random, sha256 } from "../../support.ts";
import { bytesOf, watched } from "../watched.ts";
import { describe, expect, test } from "bun:test";
import { createTreeWriter } from "../../../src/store/write/tree-writer.ts";
import { memory } from "../../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

const refused = async () => {
  throw new StorageError("permission", "only puts are allowed here");
};

async function namesIn(backend: Backend): Promise<string[]> {
  return Array.fromAsync(backend.list(""), ({ name }) => name);
}

describe("a put", () => {
  test("passes every address to the backend as the SHA-256 of the bytes", async () => {
    for (const dedupSecret of [undefined, random(32)]) {
      const { backend, calls, options } = watched(attesting());
      const store = aliceStore({ backend, chunkSize: CHUNK, dedupSecret });
      const root = await store.put(random(2 * MiB));
      await store.rewrap(root, [bob.recipient]);
      expect(options.map((given) => given?.sha256)).toEqual(calls.put);
      for (const name of calls.put) expect(sha256(await bytesOf(backend, name))).toBe(name);
    }
  });

  test("sends no HEAD requests without a dedup secret", async () => {
    const { backend, calls } = watched(attesting());
    const store = aliceStore({ backend, chunkSize: CHUNK });
    await store.put(random(MiB));
    expect(calls.put).toHaveLength(1);
    await store.put(random(2 * MiB));
    expect(calls.head).toEqual([]);
  });

  test("sends no HEAD requests if the backend does not verify checksums", async () => {
    const dull: Backend = {
      ...attesting(),
      capabilities: async () => ({ ...CAPABILITIES, verifiesChecksums: false }),
    };
    for (const inner of [memory(), dull]) {
      const { backend, calls, forget } = watched(inner);
      const store = aliceStore({ backend, chunkSize: CHUNK, dedupSecret: random(32) });
      const content = random(2 * MiB);
      const address = await store.put(content);
      const first = [...calls.put];
      forget();
      expect(await store.put(content)).toBe(address);
      expect(calls.head).toEqual([]);
      expect(calls.put.toSorted()).toEqual(first.toSorted());
    }
  });

  test("skips leaves, nodes and roots that the server has verified, within its concurrency", async () => {
    const { backend, calls, seen, forget } = watched(attesting());
    const store = aliceStore({
      backend,
      chunkSize: CHUNK,
      dedupSecret: random(32),
      concurrency: 3,
    });
    const content = random(3 * MiB);
    const address = await store.put(content);
    const all = calls.put.toSorted();
    forget();
    expect(await store.put(content)).toBe(address);
    expect(calls.put).toEqual([]);
    expect(calls.head.toSorted()).toEqual(all);
    expect(seen.most).toBe(3);
    expect(await outcome(store.verify(address, { deep: true }))).toBe("ok");

    // A change in one chunk sends that chunk and the root.
    content[MiB] = content[MiB]! ^ 1;
    forget();
    await store.put(content);
    expect(calls.put).toHaveLength(2);
  });

  test("skips the nodes of a tree with two levels", async () => {
    const { backend, calls, forget } = watched(attesting());
    const context = { backend, naCl: await loadNaCl(nacl) };
    const dedupSecret = random(32);
    const leaf = { address: "ab".repeat(32), contentKey: new Uint8Array(32) };
    const write = async () => {
      const tree = createTreeWriter(context, dedupSecret, {});
      for (let i = 0; i < 4097; i++) await tree.add(leaf);
      return tree.finish();
    };
    const first = await write();
    expect(calls.put).toHaveLength(2);
    forget();
    expect(await write()).toEqual(first);
    expect(calls.put).toEqual([]);
    expect(calls.head).toHaveLength(2);
  });

  test("overwrites garbage planted under its addresses", async () => {
    const dedupSecret = random(32);
    const content = random(MiB + 1);
    const clean = attesting();
    const address = await aliceStore({ backend: clean, chunkSize: CHUNK, dedupSecret }).put(
      content,
    );
    const names = await namesIn(clean);
    const plant = async (garbage: (right: Uint8Array) => Uint8Array): Promise<Backend> => {
      const backend = attesting();
      for (const name of names) await backend.put(name, garbage(await bytesOf(clean, name)));
      return backend;
    };
    const backends: Record<string, Backend> = {
      "of another length": await plant(() => random(10)),
      "of the same length": await plant((right) => random(right.length)),
    };
    // Name, size and checksum must all match, whatever an adapter gets wrong.
    const right = await plant((bytes) => bytes);
    backends["verified, but of another size"] = {
      ...right,
      head: async (name) => ({ ...(await right.head(name))!, size: 1 }),
    };
    backends["of the right size, but not verified"] = {
      ...right,
      head: async (name) => ({ size: (await right.head(name))!.size }),
    };
    for (const [what, inner] of Object.entries(backends)) {
      const { backend, calls } = watched(inner);
      const store = aliceStore({ backend, chunkSize: CHUNK, dedupSecret });
      expect(await store.put(content), what).toBe(address);
      expect(calls.put.toSorted(), what).toEqual(names.toSorted());
      expect(sha256(await (await store.get(address)).bytes()), what).toBe(sha256(content));
    }
  });

  test("succeeds with write-only credentials", async () => {
    for (const part of [{ head: refused }, { capabilities: refused }]) {
      const inner = attesting();
      const options = { chunkSize: CHUNK, dedupSecret: random(32) };
      const store = aliceStore({ ...options, backend: { ...inner, ...part } });
      const content = random(2 * MiB);
      const address = await store.put(content);
      expect(await store.put(content)).toBe(address);
      const reader = aliceStore({ ...options, backend: inner });
      expect(await outcome(reader.verify(address, { deep: true }))).toBe("ok");
    }
  });

  test.each([
    ["fails if the HEAD request may succeed later", true, "unavailable"],
    [
      "continues if the HEAD request fails permanently, for example for a blob under another key",
      false,
      "ok",
    ],
  ] as const)("%s", async (_, transient, expected) => {
    const head = async () => {
      throw new StorageError("unavailable", "it does not respond", { transient });
    };
    const store = aliceStore({ backend: { ...attesting(), head }, dedupSecret: random(32) });
    expect(await outcome(store.put("x"))).toBe(expected);
  });
});
