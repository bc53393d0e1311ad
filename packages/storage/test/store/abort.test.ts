import { type Backend, StorageError } from "../../src/index.ts";
import { alice, aliceStore, codeOf, drain, outcome, random } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../src/backend/memory.ts";
import { watched } from "./watched.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

describe("an aborted signal", () => {
  const reason = new Error("the user left");

  test("fails every call that starts after it", async () => {
    const store = aliceStore();
    const address = await store.put("x");
    const signal = AbortSignal.abort(reason);
    const calls = [
      async () => store.put("y", { signal }),
      async () => store.get(address, { signal }),
      async () => store.stat(address, { signal }),
      async () => store.has(address, { signal }),
      async () => store.delete(address, { signal }),
      async () => store.deleteTree(address, { signal }),
      async () => store.rewrap(address, [alice.recipient], { signal }),
      async () => store.reseal(address, [alice.recipient], { signal }),
      async () => store.verify(address, { signal }),
      async () => store.verify(address, { signal, deep: true }),
      async () => Array.fromAsync(store.list({ signal })),
    ];
    for (const call of calls) {
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      expect(codeOf(error)).toBe("aborted");
      expect((error as Error).cause).toBe(reason);
    }
    expect((await Array.fromAsync(store.list())).length).toBe(1);
  });

  test("ends a put whose source never responds", async () => {
    const abort = new AbortController();
    const silent = {
      [Symbol.asyncIterator]: () => ({ next: async () => new Promise<never>(() => {}) }),
    };
    const put = aliceStore().put(silent, { signal: abort.signal });
    setTimeout(() => abort.abort(reason), 5);
    expect(await outcome(put)).toBe("aborted");
  });

  test("ends a put midway, without a root", async () => {
    const abort = new AbortController();
    const { backend } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield new Uint8Array(CHUNK);
    }
    const put = store.put(endless(), {
      signal: abort.signal,
      onProgress: ({ chunks }) => chunks === 6 && abort.abort(reason),
    });
    expect(await outcome(put)).toBe("aborted");
    for await (const { address } of store.list()) {
      expect((await store.verify(address)).kind).toBe("child");
    }
  });

  test("ends a read midway, after whole chunks", async () => {
    const abort = new AbortController();
    const { backend } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const content = random(4 * MiB);
    const blob = await store.get(await store.put(content), {
      signal: abort.signal,
      onProgress: ({ chunks }) => chunks === 3 && abort.abort(reason),
    });
    const { bytes, error } = await drain(blob.stream());
    expect(codeOf(error)).toBe("aborted");
    expect(bytes.length % CHUNK).toBe(0);
    expect(Buffer.compare(bytes, content.subarray(0, bytes.length))).toBe(0);
  });
});

describe("cancelling a stream", () => {
  test("during a download aborts the request and does not hang", async () => {
    const inner = memory();
    const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(random(3 * MiB));
    let aborted = 0;
    let gets = 0;
    const backend: Backend = {
      ...inner,
      get: async (name, buffer, options) => {
        gets += 1;
        if (gets === 1) return inner.get(name, buffer, options);
        return new Promise((_, reject) => {
          options?.signal?.addEventListener("abort", () => {
            aborted += 1;
            reject(new StorageError("aborted", "aborted"));
          });
        });
      },
    };
    const blob = await aliceStore({ backend, chunkSize: CHUNK, concurrency: 3 }).get(address);
    const reader = blob.stream().getReader();
    const read = reader.read().catch((error: unknown) => error);
    while (gets < 4) await Bun.sleep(1);
    const cancelled = await Promise.race([
      reader.cancel().then(() => "cancelled"),
      Bun.sleep(20_000).then(() => "hung"),
    ]);
    expect(cancelled).toBe("cancelled");
    await read;
    expect(aborted).toBe(gets - 1);
    expect(aborted).toBe(3);
  });
});
