import { aliceStore, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import type { Backend } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";
import { watched } from "../watched.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

describe("work in flight", () => {
  test.each([1, 2, 4, 7])(
    "begins with 4 chunks of a put or get and stays within a concurrency of %d",
    async (concurrency) => {
      const { backend, seen, forget } = watched();
      const store = aliceStore({ backend, chunkSize: CHUNK, concurrency });
      const address = await store.put(random(5 * MiB));
      const expectWithin = () => {
        expect(seen.most).toBeGreaterThanOrEqual(Math.min(4, concurrency));
        expect(seen.most).toBeLessThanOrEqual(concurrency);
      };
      expectWithin();
      forget();
      await (await store.get(address)).bytes();
      expectWithin();
    },
  );

  test("does not fetch ahead of a stalled reader", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK, concurrency: 3 });
    const address = await store.put(random(8 * MiB));
    forget();
    const reader = (await store.get(address)).stream().getReader();
    await reader.read();
    await Bun.sleep(50);
    // The root, the chunk being read, and as many more as may be in flight.
    expect(calls.get.length).toBeLessThanOrEqual(1 + 1 + 3);
    await reader.cancel();
    const afterCancel = calls.get.length;
    await Bun.sleep(50);
    expect(calls.get.length).toBe(afterCancel);
  });

  test("does not read content ahead of a slow backend", async () => {
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
    // The 1 MiB that decides between inline and tree, and one chunk per upload.
    expect(pulled).toBeLessThanOrEqual(5 + 3 + 1);
    gate.resolve();
    await put;
    expect(pulled).toBe(100);
  });

  test("makes one request for up to 1 MiB, and beyond that one per leaf and one for the root", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK, padding: "none" });
    for (const [size, requests] of [
      [0, 1],
      [MiB, 1],
      [MiB + 1, 6],
      [2 * MiB, 9],
    ] as const) {
      forget();
      const address = await store.put(random(size));
      await (await store.get(address)).bytes();
      expect([calls.put.length, calls.get.length]).toEqual([requests, requests]);
    }
  });

  test("fetches only the chunks that a range touches", async () => {
    const { backend, calls, forget } = watched();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const address = await store.put(random(4 * MiB));
    forget();
    await (await store.get(address, { range: { start: CHUNK - 1, end: CHUNK + 1 } })).bytes();
    expect(calls.get.length).toBe(1 + 2);
  });
});
