import { type Backend, StorageError } from "../../src/index.ts";
import { aliceStore, codeOf, drain, outcome, random } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { memory } from "../../src/backend/memory.ts";
import { watched } from "./watched.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

describe("a failing backend", () => {
  test("fails the put with the backend's error, stores no root and starts no more requests", async () => {
    const { backend: inner, calls } = watched();
    const full = new StorageError("unavailable", "the disk is full");
    const backend: Backend = {
      ...inner,
      put: async (...call) => {
        if (calls.put.length >= 5) throw full;
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

  test("fails the read with the backend's error, after the preceding chunks", async () => {
    const inner = memory();
    const content = random(2 * MiB);
    const address = await aliceStore({ backend: inner, chunkSize: CHUNK }).put(content);
    const down = new StorageError("unavailable", "the store does not respond");
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

test("has nothing in flight after a put that failed or was aborted", async () => {
  for (const how of ["backend", "signal", "source"] as const) {
    const { backend: inner, calls, seen } = watched();
    const abort = new AbortController();
    const backend: Backend = {
      ...inner,
      put: async (...call) => {
        if (how === "backend" && calls.put.length === 4)
          throw new StorageError("unavailable", "full");
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

test("fails the put at once with the first failure, even if an earlier upload hangs", async () => {
  const inner = memory();
  const refused = new StorageError("permission", "refused");
  let puts = 0;
  const backend: Backend = {
    ...inner,
    put: async (_name, _bytes, options) => {
      puts += 1;
      if (puts === 2) throw refused;
      // Hangs until its signal fires, like a request to a server that does not respond.
      await new Promise((_, reject) => {
        options?.signal?.addEventListener("abort", () => {
          reject(new StorageError("aborted", "aborted"));
        });
      });
    },
  };
  const store = aliceStore({ backend, chunkSize: CHUNK });
  const put = store.put(random(3 * MiB)).catch((error: unknown) => error);
  expect(await Promise.race([put, Bun.sleep(20_000)])).toBe(refused);
});

test("does not reuse the buffers of failed calls", async () => {
  const inner = memory();
  const contents = [random(2 * MiB), random(2 * MiB)] as const;
  const writer = aliceStore({ backend: inner, chunkSize: CHUNK });
  const [first, second] = [await writer.put(contents[0]), await writer.put(contents[1])];
  let late = 0;
  const backend: Backend = {
    ...inner,
    // Violates the contract: keeps writing into the buffer after the call has failed.
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
  test("fails the put with the source's error", async () => {
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

  test("is rejected if it yields anything but bytes", async () => {
    async function* source() {
      yield "text";
    }
    expect(await outcome(aliceStore().put(source() as never))).toBe("usage");
  });

  test("is rejected if it is already being read", async () => {
    const stream = new Blob(["x"]).stream();
    stream.getReader();
    expect(await outcome(aliceStore().put(stream))).toBe("usage");
  });
});
