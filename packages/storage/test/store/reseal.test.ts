import {
  type Backend,
  type LeafReference,
  type PutReport,
  StorageError,
  type Store,
  wrapBackend,
} from "../../src/index.ts";
import { alice, aliceStore, bob, outcome, random, sha256 } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { forgeTree, unopenable } from "./forged-tree.ts";
import { attesting } from "../backend/attesting.ts";
import { bytesOf, watched } from "./watched.ts";
import { memory } from "../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

async function blobsOf(store: Store, address: string): Promise<string[]> {
  return (await Array.fromAsync(store.treeAddresses(address))).map(String);
}

async function names(backend: Backend): Promise<string[]> {
  return Array.fromAsync(backend.list(""), ({ name }) => name);
}

async function hashOf(store: Store, address: string): Promise<string> {
  await store.verify(address, { deep: true });
  return sha256(await (await store.get(address)).bytes());
}

function memoryJournal() {
  const entries = new Map<number, LeafReference>();
  const journal = {
    known: async (index: number) => entries.get(index),
    stored: async (index: number, leaf: LeafReference) => void entries.set(index, leaf),
  };
  return { journal, entries };
}

describe("reseal", () => {
  test("writes every chunk under a new key, for the given recipients, and keeps the old ones", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const content = random(3 * MiB + 5);
    const metadata = { name: "letters", mtime: 7, own: Uint8Array.of(1) };
    const old = await store.put(content, {
      metadata,
      recipients: [alice.recipient, bob.recipient],
    });
    const before = await names(backend);

    const address = await store.reseal(old, [alice.recipient]);

    const [oldBlobs, newBlobs] = [await blobsOf(store, old), await blobsOf(store, address)];
    expect(newBlobs).toHaveLength(oldBlobs.length);
    expect(newBlobs.filter((name) => oldBlobs.includes(name))).toEqual([]);
    expect((await names(backend)).toSorted()).toEqual([...before, ...newBlobs].toSorted());
    expect(await hashOf(store, address)).toBe(sha256(content));
    expect(await hashOf(store, old)).toBe(sha256(content));
    expect(await outcome(store.get(address, { identities: [bob] }))).toBe("no-match");

    // Deleting the old tree is the caller's step, and leaves the new one whole.
    await store.deleteTree(old);
    expect((await names(backend)).toSorted()).toEqual(newBlobs.toSorted());
    expect(await hashOf(store, address)).toBe(sha256(content));
  });

  test.each([
    ["inline", { compression: "none", padding: "padme", size: 1000 }],
    ["a tree", { compression: "none", padding: "padme", size: 5 * MiB + 1 }],
    ["a tree without padding", { compression: "none", padding: "none", size: 2 * MiB + 1 }],
    [
      "a tree with leaves of padding alone",
      { compression: "none", padding: "padme", size: 17 * MiB + 1 },
    ],
    ["compressed, inline", { compression: "zstd", padding: "padme", size: 400_000 }],
    ["compressed, a tree", { compression: "zstd", padding: "padme", size: 4 * MiB }],
    ["compressed with lz4", { compression: "lz4", padding: "padme", size: 4 * MiB }],
  ] as const)(
    "keeps metadata, chunk size, padding and encoding of content that is %s",
    async (_, { compression, padding, size }) => {
      const backend = memory();
      // Half noise, so that it can be compressed and still needs a tree.
      const content = Buffer.concat([random(size / 2), new Uint8Array(Math.ceil(size / 2))]);
      const writer = aliceStore({ backend, chunkSize: CHUNK, compression, padding });
      const old = await writer.put(content, { metadata: { name: "n", mtime: 5 } });
      // The settings of the store that reseals do not matter.
      const store = aliceStore({ backend, chunkSize: MiB, compression: "zstd" });
      const address = await store.reseal(old, [alice.recipient]);
      expect(address).not.toBe(old);
      const { address: _old, storedBytes: _bytes, ...stat } = await store.stat(old);
      expect(await store.stat(address)).toMatchObject(stat);
      expect(await hashOf(store, address)).toBe(sha256(content));
    },
  );

  test("reports what it stored, and its progress", async () => {
    const store = aliceStore({ chunkSize: CHUNK, padding: "none" });
    const old = await store.put(random(2 * MiB));
    const reports: PutReport[] = [];
    const progress: unknown[] = [];
    await store.reseal(old, [alice.recipient], {
      onReport: (report) => reports.push(report),
      onProgress: (state) => progress.push(state),
    });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatchObject({ bytes: 2 * MiB, chunks: 8, newChunks: 8, sentBlobs: 9 });
    expect(progress).toHaveLength(8);
    expect(progress.at(-1)).toEqual({ bytes: 2 * MiB, total: 2 * MiB, chunks: 8 });
  });

  test("streams: few chunks are read ahead of those written", async () => {
    let [ahead, most] = [0, 0];
    const inner = memory();
    const backend = wrapBackend(inner, {
      get:
        (get) =>
        async (...given) => {
          most = Math.max(most, (ahead += 1));
          return get(...given);
        },
      put:
        (put) =>
        async (...given) => {
          await Bun.sleep(1);
          await put(...given);
          ahead -= 1;
        },
    });
    const old = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(random(24 * MiB));
    const store = aliceStore({ backend, workers: 0, concurrency: 3 });
    await store.reseal(old, [alice.recipient]);
    expect(most).toBeLessThan(12);
  });

  test("continues after an interruption with a journal", async () => {
    const inner = memory();
    let left = 10;
    const puts: string[] = [];
    const backend = wrapBackend(inner, {
      put:
        (put) =>
        async (name, ...rest) => {
          if (left-- <= 0) throw new StorageError("unavailable", "the line is cut");
          puts.push(name);
          await put(name, ...rest);
        },
    });
    const content = random(6 * MiB);
    const old = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
    const { journal, entries } = memoryJournal();
    const store = aliceStore({ backend });
    expect(await outcome(store.reseal(old, [bob.recipient], { journal }))).toBe("unavailable");
    expect(entries.size).toBe(10);
    const first = new Set(puts.splice(0));
    left = Number.POSITIVE_INFINITY;
    const address = await store.reseal(old, [bob.recipient], { journal });
    expect(puts).toHaveLength(24 - 10 + 1);
    const reader = aliceStore({ backend: inner, identities: [bob] });
    const all = new Set(await blobsOf(reader, address));
    for (const name of first) expect(all.has(name)).toBe(true);
    expect(await hashOf(reader, address)).toBe(sha256(content));
  });

  test("refuses the journal of the put, which has the old keys", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const { journal } = memoryJournal();
    const old = await store.put(random(2 * MiB), { journal });
    forget();
    expect(await outcome(store.reseal(old, [alice.recipient], { journal }))).toBe("usage");
    expect(calls.put).toEqual([]);
  });

  test("refuses a dedup secret that gives the old keys, and takes another", async () => {
    const backend = attesting();
    const [secret, other] = [random(32), random(32)];
    const store = aliceStore({ backend, chunkSize: CHUNK, dedupSecret: secret });
    const [large, small] = [random(2 * MiB), random(1000)];
    const before: string[] = [];
    for (const content of [large, small]) {
      const old = await store.put(content);
      before.push(...(await names(backend)));
      expect(await outcome(store.reseal(old, [alice.recipient]))).toBe("usage");
      expect((await names(backend)).every((name) => before.includes(name))).toBe(true);
      const address = await store.reseal(old, [alice.recipient], { dedupSecret: other });
      const oldBlobs = await blobsOf(store, old);
      expect((await blobsOf(store, address)).filter((name) => oldBlobs.includes(name))).toEqual([]);
      expect(await hashOf(store, address)).toBe(sha256(content));
      const rotated = aliceStore({ backend, chunkSize: CHUNK, dedupSecret: other });
      expect(await rotated.put(content)).toBe(address);
    }
  });

  test("writes nothing if the content is longer than maxBytes, as a few forged blobs can be", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    const leaf = await store.put(random(2 * MiB));
    const forged = await forgeTree(
      backend,
      alice.recipient,
      Array.from({ length: 5000 }, () => unopenable(leaf)),
    );
    forget();
    const long = store.reseal(forged, [alice.recipient], { maxBytes: 2 ** 30 });
    expect(await outcome(long)).toBe("usage");
    for (const maxBytes of [2 * MiB - 1, -1, Number.NaN]) {
      expect(await outcome(store.reseal(leaf, [alice.recipient], { maxBytes }))).toBe("usage");
    }
    expect(calls.put).toEqual([]);
    await store.reseal(leaf, [alice.recipient], { maxBytes: 2 * MiB });
  });

  test("takes null from a journal for what it does not have", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const old = await store.put(random(2 * MiB));
    const known = async () => null as unknown as undefined;
    const journal = { known, stored: async () => {} };
    expect(await outcome(store.reseal(old, [alice.recipient], { journal }))).toBe("ok");
  });

  test("writes no root if a chunk is damaged or missing", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const old = await store.put(random(2 * MiB));
    const chunk = (await blobsOf(store, old))[5]!;
    const bytes = await bytesOf(backend, chunk);
    const roots = async () => {
      const kinds = await Array.fromAsync(store.scan(), ({ kind }) => kind);
      return kinds.filter((kind) => kind === "opened").length;
    };
    await backend.put(chunk, bytes.toReversed());
    expect(await outcome(store.reseal(old, [alice.recipient]))).toBe("address");
    await backend.delete(chunk);
    expect(await outcome(store.reseal(old, [alice.recipient]))).toBe("not-found");
    expect(await roots()).toBe(1);
  });

  test("needs an identity and a recipient, and stops when the signal fires", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const old = await store.put(random(2 * MiB));
    expect(await outcome(store.reseal(old, []))).toBe("usage");
    expect(await outcome(store.reseal(old, ["idk1"]))).toBe("key");
    expect(await outcome(store.reseal(old, [bob.recipient], { identities: [bob] }))).toBe(
      "no-match",
    );
    const controller = new AbortController();
    const { signal } = controller;
    const onProgress = () => controller.abort();
    expect(await outcome(store.reseal(old, [bob.recipient], { signal, onProgress }))).toBe(
      "aborted",
    );
    expect(await outcome(store.reseal(old, [bob.recipient], { signal }))).toBe("aborted");
  });
});
