import { type Backend, StorageError } from "../../src/index.ts";
import { alice, aliceStore, codeOf, drain, outcome, random } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

/** A backend that waits for a turn before each call, as one over a network would, and counts. */
function counting(inner: Backend = memory()) {
  const seen = { puts: 0, gets: 0, inFlight: 0, most: 0 };
  const counted = async <T>(kind: "puts" | "gets", call: () => Promise<T>): Promise<T> => {
    seen[kind] += 1;
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
    put: async (...call) => counted("puts", async () => inner.put(...call)),
    get: async (...call) => counted("gets", async () => inner.get(...call)),
  };
  return { backend, seen };
}

describe("a failing backend", () => {
  test("fails the put with its own error, stores no root and starts nothing more", async () => {
    const { backend: inner, seen } = counting();
    const full = new StorageError("unavailable", "the disk is full");
    const backend: Backend = {
      ...inner,
      put: async (...call) => {
        if (seen.puts >= 5) throw full;
        await inner.put(...call);
      },
    };
    let pulled = 0;
    let returned = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          pulled += 1;
          yield new Uint8Array(CHUNK);
        }
      } finally {
        returned = true;
      }
    }
    const store = aliceStore({ backend, chunkSize: CHUNK });
    expect(await store.put(endless()).catch((error: unknown) => error)).toBe(full);
    const atFailure = pulled;
    await Bun.sleep(30);
    expect(pulled).toBe(atFailure);
    expect(returned).toBe(true);
    for await (const { address } of store.list()) {
      expect((await aliceStore({ backend: inner }).verify(address)).kind).toBe("child");
    }
  });

  test("fails the read with its own error, after the chunks before it", async () => {
    const inner = memory();
    const content = random(2 * MiB);
    const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
    const down = new StorageError("unavailable", "the store does not answer");
    let gets = 0;
    const backend: Backend = {
      ...inner,
      get: async (...call) => {
        gets += 1;
        if (gets === 5) throw down;
        return inner.get(...call);
      },
    };
    const blob = await aliceStore({ backend, chunkSize: CHUNK, concurrency: 2 }).get(address);
    const { bytes, error } = await drain(blob.stream());
    expect(error).toBe(down);
    expect(Buffer.compare(bytes, content.subarray(0, 3 * CHUNK))).toBe(0);
  });
});

test("a put that failed or was aborted has nothing in flight any more", async () => {
  for (const how of ["backend", "signal", "source"] as const) {
    const { backend: inner, seen } = counting();
    const abort = new AbortController();
    const backend: Backend = {
      ...inner,
      put: async (...call) => {
        if (how === "backend" && seen.puts === 4) throw new StorageError("unavailable", "full");
        await inner.put(...call);
      },
    };
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let i = 0; ; i++) {
        yield new Uint8Array(CHUNK);
        if (how === "source" && i === 12) throw new Error("unplugged");
        if (how === "signal" && i === 12) abort.abort();
      }
    }
    const store = aliceStore({ backend, chunkSize: CHUNK, concurrency: 6 });
    expect(await outcome(store.put(source(), { signal: abort.signal }))).not.toBe("ok");
    expect(seen.inFlight).toBe(0);
    expect(seen.most).toBeGreaterThan(1);
  }
});

test("a put fails with the first failure at once, although an earlier upload is stuck", async () => {
  const inner = memory();
  const refused = new StorageError("permission", "refused");
  let puts = 0;
  const backend: Backend = {
    ...inner,
    put: async (_name, _bytes, options) => {
      puts += 1;
      if (puts === 2) throw refused;
      // Stuck until its signal fires, as a request to a server that does not answer.
      await new Promise((_, reject) => {
        options?.signal?.addEventListener("abort", () => {
          reject(new StorageError("aborted", "aborted"));
        });
      });
    },
  };
  const store = aliceStore({ backend, chunkSize: CHUNK });
  const put = store.put(random(3 * MiB)).catch((error: unknown) => error);
  expect(await Promise.race([put, Bun.sleep(2000)])).toBe(refused);
});

describe("a stream that is cancelled", () => {
  test("while a chunk is on its way ends the request and does not hang", async () => {
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
    await Bun.sleep(10);
    const cancelled = await Promise.race([
      reader.cancel().then(() => "cancelled"),
      Bun.sleep(2000).then(() => "hung"),
    ]);
    expect(cancelled).toBe("cancelled");
    await read;
    expect(aborted).toBe(gets - 1);
    expect(aborted).toBe(3);
  });
});

test("buffers of calls that failed are not used again", async () => {
  const inner = memory();
  const contents = [random(2 * MiB), random(2 * MiB)] as const;
  const writer = aliceStore({ backend: inner, chunkSize: CHUNK });
  const [first, second] = [await writer.put(contents[0]), await writer.put(contents[1])];
  let late = 0;
  const backend: Backend = {
    ...inner,
    // Against the contract: it goes on writing into the buffer after it gave up.
    get: async (name, buffer, options) => {
      if (!options?.signal?.aborted && late < 3 && buffer.length < 2 ** 20) {
        late += 1;
        setTimeout(() => buffer.fill(0xee), 20);
        throw new StorageError("unavailable", "lost the connection");
      }
      await Bun.sleep(5);
      return inner.get(name, buffer, options);
    },
  };
  const store = aliceStore({ backend, chunkSize: CHUNK });
  expect(await outcome((await store.get(first)).bytes())).toBe("unavailable");
  const { bytes, error } = await drain((await store.get(second)).stream());
  expect(error instanceof Error && codeOf(error) !== "unavailable").toBe(false);
  expect(Buffer.compare(bytes, contents[1].subarray(0, bytes.length))).toBe(0);
  expect(Buffer.compare(await (await store.get(second)).bytes(), contents[1])).toBe(0);
});

describe("a failing source", () => {
  test("fails the put with its own error", async () => {
    const broken = new Error("the camera was unplugged");
    for (const after of [0, 10, 3 * MiB]) {
      async function* source(): AsyncGenerator<Uint8Array> {
        yield new Uint8Array(after);
        throw broken;
      }
      const backend = memory();
      const store = aliceStore({ backend, chunkSize: CHUNK });
      expect(await store.put(source()).catch((error: unknown) => error)).toBe(broken);
      for await (const { address } of store.list()) {
        expect((await store.verify(address)).kind).toBe("child");
      }
    }
  });

  test("that yields something else than bytes is refused", async () => {
    async function* source() {
      yield "text";
    }
    expect(await outcome(aliceStore().put(source() as never))).toBe("usage");
  });

  test("that is already being read is refused", async () => {
    const stream = new Blob(["x"]).stream();
    stream.getReader();
    expect(await outcome(aliceStore().put(stream))).toBe("usage");
  });
});

describe("an aborted signal", () => {
  const reason = new Error("the user left");

  test("before the call stops every call", async () => {
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

  test("ends a put whose source never answers", async () => {
    const abort = new AbortController();
    const silent = {
      [Symbol.asyncIterator]: () => ({ next: async () => new Promise<never>(() => {}) }),
    };
    const put = aliceStore().put(silent, { signal: abort.signal });
    setTimeout(() => abort.abort(reason), 5);
    expect(await outcome(put)).toBe("aborted");
  });

  test("ends a put half-way, without a root", async () => {
    const abort = new AbortController();
    const { backend } = counting();
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

  test("ends a read half-way, after whole chunks", async () => {
    const abort = new AbortController();
    const { backend } = counting();
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

describe("work in flight", () => {
  test.each([1, 2, 4, 7])("stays within a concurrency of %d, both ways", async (concurrency) => {
    const { backend, seen } = counting();
    const store = aliceStore({ backend, chunkSize: CHUNK, concurrency });
    const address = await store.put(random(5 * MiB));
    expect(seen.most).toBe(concurrency);
    seen.most = 0;
    await (await store.get(address)).bytes();
    expect(seen.most).toBe(concurrency);
  });

  test("does not run ahead of a reader who has stopped reading", async () => {
    const { backend, seen } = counting();
    const store = aliceStore({ backend, chunkSize: CHUNK, concurrency: 3 });
    const address = await store.put(random(8 * MiB));
    seen.gets = 0;
    const reader = (await store.get(address)).stream().getReader();
    await reader.read();
    await Bun.sleep(50);
    // The root, the chunk being read, and at most as many ahead of it as may be in flight.
    expect(seen.gets).toBeLessThanOrEqual(1 + 1 + 3);
    await reader.cancel();
    const afterCancel = seen.gets;
    await Bun.sleep(50);
    expect(seen.gets).toBe(afterCancel);
  });

  test("does not run ahead of a backend that is slow to store", async () => {
    const gate = Promise.withResolvers<void>();
    const inner = memory();
    const backend: Backend = {
      ...inner,
      put: async (...call) => {
        await gate.promise;
        await inner.put(...call);
      },
    };
    let pulled = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 100; i++) {
        pulled += 1;
        yield new Uint8Array(CHUNK);
      }
    }
    const put = aliceStore({ backend, chunkSize: CHUNK, concurrency: 3 }).put(source());
    await Bun.sleep(50);
    // What decides between inline and tree (1 MiB), and one chunk for each upload.
    expect(pulled).toBeLessThanOrEqual(5 + 3 + 1);
    gate.resolve();
    await put;
    expect(pulled).toBe(100);
  });

  test("takes one request for up to 1 MiB, and leaves and root beyond", async () => {
    const { backend, seen } = counting();
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    for (const [size, requests] of [
      [0, 1],
      [MiB, 1],
      [MiB + 1, 6],
      [2 * MiB, 9],
    ] as const) {
      Object.assign(seen, { puts: 0, gets: 0 });
      const address = await store.put(random(size));
      await (await store.get(address)).bytes();
      expect(seen).toMatchObject({ puts: requests, gets: requests });
    }
  });

  test("of a range is only what the range touches", async () => {
    const { backend, seen } = counting();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const address = await store.put(random(4 * MiB));
    seen.gets = 0;
    await (await store.get(address, { range: { start: CHUNK - 1, end: CHUNK + 1 } })).bytes();
    expect(seen.gets).toBe(1 + 2);
  });
});
