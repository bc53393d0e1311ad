import { alice, aliceStore, bob, outcome, random, sha256 } from "../support.ts";
import { describe, expect, test } from "bun:test";
import type { Backend } from "../../src/index.ts";
import { memory } from "../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

async function names(backend: Backend): Promise<string[]> {
  const all: string[] = [];
  for await (const { name } of backend.list("")) all.push(name);
  return all.toSorted();
}

describe("rewrap", () => {
  test("grants a new recipient access without copying chunks", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const content = random(3 * MiB);
    const metadata = { name: "shared", bytes: Uint8Array.of(9) };
    const old = await store.put(content, { metadata });
    const before = await names(backend);

    const address = await store.rewrap(old, [bob.recipient]);

    expect((await names(backend)).filter((name) => !before.includes(name))).toEqual([address]);
    const blob = await store.get(address, { identities: [bob] });
    expect(sha256(await blob.bytes())).toBe(sha256(content));
    expect({ ...blob.metadata }).toEqual(metadata);
    expect(await outcome(store.get(address))).toBe("no-match");
    expect(sha256(await (await store.get(old)).bytes())).toBe(sha256(content));
    const { storedBytes: _, address: __, ...stat } = await store.stat(old);
    expect(await store.stat(address, { identities: [bob] })).toMatchObject(stat);
  });

  test("copies inline content into the new root", async () => {
    const store = aliceStore();
    const address = await store.rewrap(await store.put("inline"), [alice.recipient, bob.recipient]);
    for (const identity of [alice, bob]) {
      expect(await (await store.get(address, { identities: [identity] })).text()).toBe("inline");
    }
  });

  test("requires an identity that opens the blob, and a recipient", async () => {
    const store = aliceStore();
    const address = await store.put("x");
    expect(await outcome(store.rewrap(address, [bob.recipient], { identities: [bob] }))).toBe(
      "no-match",
    );
    expect(await outcome(store.rewrap(address, []))).toBe("usage");
    expect(await outcome(store.rewrap(address, ["idk1"]))).toBe("key");
  });
});

describe("delete", () => {
  test("deletes one blob, and resolves if it is already gone", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const address = await store.put(random(2 * MiB));
    const before = await names(backend);
    expect(await store.has(address)).toBe(true);
    await store.delete(address);
    await store.delete(address);
    expect(await store.has(address)).toBe(false);
    expect(await names(backend)).toEqual(before.filter((name) => name !== address));
  });

  test("of a tree deletes the root first, then its chunks, and nothing else", async () => {
    const inner = memory();
    const deleted: string[] = [];
    const backend: Backend = {
      ...inner,
      delete: async (name, options) => {
        deleted.push(name);
        await inner.delete(name, options);
      },
    };
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const kept = await store.put(random(2 * MiB));
    const before = await names(inner);
    const address = await store.put(random(2 * MiB + 1));
    const added = (await names(inner)).length - before.length;

    const told: number[] = [];
    const onProgress = ({ blobs }: { readonly blobs: number }) => told.push(blobs);
    expect(await store.deleteTree(address, { onProgress })).toEqual({ blobs: added, skipped: 0 });

    expect(told).toEqual(Array.from({ length: added }, (_, index) => index + 1));
    expect(deleted[0]).toBe(address);
    expect(await names(inner)).toEqual(before);
    expect(await outcome(store.verify(kept, { deep: true }))).toBe("ok");
  });

  test("of a tree is refused if chunks may be shared, unless forced", async () => {
    const backend = memory();
    const store = aliceStore({ backend, dedupSecret: random(32), chunkSize: CHUNK });
    const address = await store.put(new Uint8Array(2 * MiB));
    expect(await outcome(store.deleteTree(address))).toBe("usage");
    expect(await store.has(address)).toBe(true);
    await store.deleteTree(address, { force: true });
    expect(await names(backend)).toEqual([]);
  });

  test("of a tree is refused even if only one call used a dedup secret", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const address = await store.put(random(2 * MiB), { dedupSecret: random(32) });
    expect(await outcome(store.deleteTree(address))).toBe("usage");
  });

  test("of a tree without a key fails and deletes nothing", async () => {
    const backend = memory();
    const store = aliceStore({ backend });
    const address = await store.put("x");
    expect(await outcome(store.deleteTree(address, { identities: [bob] }))).toBe("no-match");
    expect(await store.has(address)).toBe(true);
  });
});

describe("verify", () => {
  test("without a key accepts every blob that a store wrote, and reports its kind", async () => {
    const backend = memory();
    const writer = aliceStore({ backend, identities: undefined, chunkSize: CHUNK });
    const root = await writer.put(random(2 * MiB));
    for await (const { address, size } of writer.list()) {
      const kind = address === root ? "root" : "child";
      expect(await writer.verify(address)).toEqual({
        address,
        kind,
        blobs: 1,
        bytes: size,
        verifiedByServer: false,
      });
    }
  });

  test("with a key checks the whole tree and counts it", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const root = await store.put(random(2 * MiB + 1));
    const all = await Array.fromAsync(store.list());
    const bytes = all.reduce((sum, { size }) => sum + size, 0);
    expect(await store.verify(root, { deep: true })).toEqual({
      address: root,
      kind: "root",
      blobs: all.length,
      bytes,
      verifiedByServer: false,
    });
    for (const { address } of all) {
      if (address === root) continue;
      const blob = new Uint8Array(CHUNK + 59);
      const length = await backend.get(address, blob);
      await backend.delete(address);
      expect(await outcome(store.verify(root, { deep: true }))).toBe("not-found");
      await backend.put(address, blob.subarray(0, length - 1));
      expect(await outcome(store.verify(root, { deep: true }))).toBe("address");
      await backend.put(address, blob.subarray(0, length));
    }
  });
});

describe("list", () => {
  test("yields every blob once, or those that start with a prefix", async () => {
    const store = aliceStore({ chunkSize: CHUNK });
    const root = await store.put(random(4 * MiB));
    const all = (await Array.fromAsync(store.list()))
      .map(({ address }) => String(address))
      .toSorted();
    expect(new Set(all).size).toBe(all.length);
    expect(all).toContain(root);
    const prefix = root.slice(0, 2);
    const some = (await Array.fromAsync(store.list({ prefix }))).map(({ address }) =>
      String(address),
    );
    expect(some.toSorted()).toEqual(all.filter((name) => name.startsWith(prefix)));
    expect(await outcome(Array.fromAsync(store.list({ prefix: "XY" })))).toBe("usage");
  });
});

test("closes the store when its scope ends", async () => {
  let closed = 0;
  const backend = { ...memory(), close: async () => void (closed += 1) };
  {
    await using store = aliceStore({ backend });
    await store.put("x");
  }
  expect(closed).toBe(1);
});
