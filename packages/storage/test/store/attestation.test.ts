import type { Backend, PutCallOptions } from "../../src/index.ts";
import { StorageError, loadNaCl } from "../../src/index.ts";
import { CAPABILITIES, attesting } from "../backend/attesting.ts";
import { aliceStore, bob, drain, nacl, outcome, random, sha256 } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { createTreeWriter } from "../../src/store/tree-writer.ts";
import { memory } from "../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

const refused = async () => {
  throw new StorageError("permission", "only puts are allowed here");
};

/** A backend that notes the calls it gets, and what of them was in flight at once. */
function watched(inner: Backend) {
  const calls = { put: [] as string[], get: [] as string[], head: [] as string[] };
  const options: (PutCallOptions | undefined)[] = [];
  const seen = { inFlight: 0, most: 0 };
  const watch = async <T>(call: () => Promise<T>): Promise<T> => {
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    try {
      await Bun.sleep(1);
      return await call();
    } finally {
      seen.inFlight -= 1;
    }
  };
  const backend: Backend = {
    ...inner,
    put: async (...given) => {
      calls.put.push(given[0]);
      options.push(given[2]);
      return watch(async () => inner.put(...given));
    },
    get: async (...given) => {
      calls.get.push(given[0]);
      return watch(async () => inner.get(...given));
    },
    head: async (...given) => {
      calls.head.push(given[0]);
      return watch(async () => inner.head(...given));
    },
  };
  const forget = (): void => {
    for (const names of Object.values(calls)) names.length = 0;
    seen.most = 0;
  };
  return { backend, calls, options, seen, forget };
}

async function namesIn(backend: Backend): Promise<string[]> {
  return Array.fromAsync(backend.list(""), ({ name }) => name);
}

async function bytesOf(backend: Backend, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array((await backend.head(name))!.size);
  await backend.get(name, bytes);
  return bytes;
}

describe("a put", () => {
  test("hands every address to the backend as the hash of the bytes", async () => {
    for (const dedupSecret of [undefined, random(32)]) {
      const { backend, calls, options } = watched(attesting());
      const store = aliceStore({ backend, chunkSize: CHUNK, dedupSecret });
      const root = await store.put(random(2 * MiB));
      await store.rewrap(root, [bob.recipient]);
      expect(options.map((given) => given?.sha256)).toEqual(calls.put);
      for (const name of calls.put) expect(sha256(await bytesOf(backend, name))).toBe(name);
    }
  });

  test("of random blobs looks at nothing, whatever the backend attests", async () => {
    const { backend, calls } = watched(attesting());
    const store = aliceStore({ backend, chunkSize: CHUNK });
    await store.put(random(MiB));
    expect(calls.put).toHaveLength(1);
    await store.put(random(2 * MiB));
    expect(calls.head).toEqual([]);
  });

  test("looks at nothing where the backend attests nothing", async () => {
    const dull: Backend = {
      ...attesting(),
      capabilities: async () => ({ ...CAPABILITIES, attestsSha256: false }),
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

  test("skips what is attested, leaves, nodes and root, within its concurrency", async () => {
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

    // A change in one chunk costs that chunk and the root.
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
    const places: Record<string, Backend> = {
      "of another length": await plant(() => random(10)),
      "of the same length": await plant((right) => random(right.length)),
    };
    // Whatever an adapter gets wrong: all that is said must fit.
    const right = await plant((bytes) => bytes);
    places["attested, but of another size"] = {
      ...right,
      head: async (name) => ({ ...(await right.head(name))!, size: 1 }),
    };
    places["of the right size, but not attested"] = {
      ...right,
      head: async (name) => ({ size: (await right.head(name))!.size }),
    };
    for (const [what, backend] of Object.entries(places)) {
      const { backend: place, calls } = watched(backend);
      const store = aliceStore({ backend: place, chunkSize: CHUNK, dedupSecret });
      expect(await store.put(content), what).toBe(address);
      expect(calls.put.toSorted(), what).toEqual(names.toSorted());
      expect(sha256(await (await store.get(address)).bytes()), what).toBe(sha256(content));
    }
  });

  test("is possible for who may only write", async () => {
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
    ["fails where the look may succeed later", true, "unavailable"],
    ["goes on where the look fails for good, as with a blob under another key", false, "ok"],
  ] as const)("%s", async (_, transient, expected) => {
    const head = async () => {
      throw new StorageError("unavailable", "it does not answer", { transient });
    };
    const store = aliceStore({ backend: { ...attesting(), head }, dedupSecret: random(32) });
    expect(await outcome(store.put("x"))).toBe(expected);
  });
});

describe("a download that is damaged", () => {
  /** Damages the first so many downloads of each blob. */
  function flaky(inner: Backend, times: number, damage: (bytes: Uint8Array) => number) {
    const downloads = new Map<string, number>();
    const backend: Backend = {
      ...inner,
      local: false,
      get: async (name, buffer, options) => {
        const length = await inner.get(name, buffer, options);
        const before = downloads.get(name) ?? 0;
        downloads.set(name, before + 1);
        return before < times ? damage(buffer.subarray(0, length)) : length;
      },
    };
    return { backend, downloads };
  }
  const damages: Record<string, (bytes: Uint8Array) => number> = {
    "a flipped bit": (bytes) => {
      bytes[bytes.length >> 1]! ^= 1;
      return bytes.length;
    },
    "a cut": (bytes) => bytes.length - 1,
    "nothing at all": () => 0,
  };

  for (const [what, damage] of Object.entries(damages)) {
    test(`by ${what} is repeated once, and counts only then`, async () => {
      const inner = memory();
      const content = random(2 * MiB);
      const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
      const once = flaky(inner, 1, damage);
      const store = aliceStore({ backend: once.backend, chunkSize: CHUNK });
      expect(sha256(await (await store.get(address)).bytes())).toBe(sha256(content));
      expect(new Set(once.downloads.values())).toEqual(new Set([2]));

      const twice = flaky(inner, 2, damage);
      const damaged = aliceStore({ backend: twice.backend, chunkSize: CHUNK });
      expect(await outcome(damaged.get(address))).toBe("address");
      expect(twice.downloads.get(address)).toBe(2);
    });
  }

  test("is not repeated for anything else", async () => {
    const { backend, calls } = watched(memory());
    const store = aliceStore({ backend });
    expect(await outcome(store.get("0".repeat(64)))).toBe("not-found");
    const garbage = random(100);
    await backend.put(sha256(garbage), garbage);
    expect(await outcome(store.get(sha256(garbage)))).toBe("format");
    expect(calls.get).toHaveLength(2);
  });

  test("releases nothing of the damaged one", async () => {
    const inner = memory();
    const content = random(2 * MiB);
    const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
    let gets = 0;
    const backend: Backend = {
      ...inner,
      get: async (name, buffer, options) => {
        const length = await inner.get(name, buffer, options);
        gets += 1;
        if (gets > 4) buffer[100]! ^= 1;
        return length;
      },
    };
    const blob = await aliceStore({ backend, chunkSize: CHUNK, concurrency: 1 }).get(address);
    const { bytes, error } = await drain(blob.stream());
    expect(error).toMatchObject({ code: "address" });
    expect(Buffer.compare(bytes, content.subarray(0, 3 * CHUNK))).toBe(0);
  });
});

describe("verify with attested", () => {
  test("downloads nothing where the store attests the bytes, and says so", async () => {
    const { backend, calls, forget } = watched(attesting());
    const store = aliceStore({ backend, chunkSize: CHUNK });
    await store.put(random(2 * MiB));
    forget();
    for await (const { address, size } of store.list()) {
      expect(await store.verify(address, { attested: true })).toEqual({
        address,
        kind: undefined,
        blobs: 1,
        bytes: size,
        attested: true,
      });
    }
    expect(calls.get).toEqual([]);
    expect(calls.head).toHaveLength(8 + 1);
  });

  test("reads and checks where it does not, and says so", async () => {
    const inner = attesting();
    const address = await aliceStore({ backend: inner }).put("x");
    const silent: Backend = {
      ...inner,
      head: async (name) => ({ size: (await inner.head(name))!.size }),
    };
    const lying: Backend = {
      ...inner,
      head: async () => ({ size: 5, sha256: "0".repeat(64) }),
    };
    const { capabilities: _, ...plain } = inner;
    for (const place of [silent, lying, plain]) {
      const { backend, calls } = watched(place);
      const store = aliceStore({ backend });
      expect(await store.verify(address, { attested: true })).toMatchObject({
        kind: "root",
        attested: false,
      });
      expect(calls.get).toEqual([address]);
    }
    const bytes = await bytesOf(inner, address);
    bytes[60]! ^= 1;
    await inner.put(address, bytes);
    const store = aliceStore({ backend: inner });
    expect(await outcome(store.verify(address, { attested: true }))).toBe("address");
    await inner.delete(address);
    expect(await outcome(store.verify(address, { attested: true }))).toBe("not-found");
  });

  test("refuses a blob that is attested, but longer than any can be", async () => {
    const inner = attesting();
    const address = await aliceStore({ backend: inner }).put("x");
    const backend: Backend = { ...inner, head: async () => ({ size: 2 ** 25, sha256: address }) };
    expect(await outcome(aliceStore({ backend }).verify(address, { attested: true }))).toBe(
      "limit",
    );
  });

  test("does not go with deep", async () => {
    const store = aliceStore({ backend: attesting() });
    const address = await store.put("x");
    expect(await outcome(store.verify(address, { attested: true, deep: true }))).toBe("usage");
  });
});

describe("stat", () => {
  test("says how the store encrypts the root, where the backend can say it", async () => {
    const { backend, calls, forget } = watched(attesting());
    const store = aliceStore({ backend });
    const address = await store.put("x");
    forget();
    expect((await store.stat(address)).encryption).toBe("AES256");
    expect(calls).toEqual({ put: [], get: [address], head: [address] });
  });

  test("makes no request more where it cannot, and leaves the entry out", async () => {
    const { backend, calls } = watched(memory());
    const store = aliceStore({ backend });
    const stat = await store.stat(await store.put("x"));
    expect("encryption" in stat).toBe(false);
    expect(calls.head).toEqual([]);
  });
});
