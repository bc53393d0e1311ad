import { type Backend, withRetry, wrapBackend } from "@idk/storage";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type FaultProxy, faultProxy } from "../servers/toxiproxy.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openBackend, storeOver } from "./stores.ts";
import { requireServer } from "../servers/require-server.ts";

/** How often transfers were retried, and the most that were in flight at once. */
interface Seen {
  retries: number;
  most: number;
}

function counting(backend: Backend, seen: Seen): Backend {
  let running = 0;
  const count = async <T>(call: () => Promise<T>): Promise<T> => {
    running += 1;
    seen.most = Math.max(seen.most, running);
    try {
      return await call();
    } finally {
      running -= 1;
    }
  };
  return wrapBackend(backend, {
    put: (put) => (name, bytes, given) => count(() => put(name, bytes, given)),
    get: (get) => (name, buffer, given) => count(() => get(name, buffer, given)),
  });
}

requireServer("minio", "toxiproxy")("a slow line", () => {
  let bucket: Bucket;
  let proxy: FaultProxy;
  // 26 chunks: with fewer, even a line that is not slow would get no more than four at once.
  const content = testContent(6.5 * MiB, 5);

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    // KB/s, for each connection.
    const attributes = { rate: 62 };
    proxy = await faultProxy(bucket.server.endpoint, [
      { type: "bandwidth", stream: "upstream", attributes },
      { type: "bandwidth", stream: "downstream", attributes },
    ]);
  });
  afterAll(async () => {
    await proxy.remove();
    await bucket.remove();
  });

  test("gets no more chunks at once, retries and time than with four at once", async () => {
    const transfer = async (concurrency?: number) => {
      const seen: Seen = { retries: 0, most: 0 };
      const where = { endpoint: proxy.endpoint, bucket: bucket.name, keys: bucket.server };
      const onRetry = () => void (seen.retries += 1);
      const backend = withRetry(openBackend.s3({ ...where, timeoutMs: 20_000 }), { onRetry });
      await using store = storeOver(counting(backend, seen), { chunkSize: 2 ** 18, concurrency });
      const start = performance.now();
      const address = await store.put(content.stream());
      expect(await sha256Of((await store.get(address)).stream())).toBe(content.sha256);
      return { ...seen, ms: performance.now() - start };
    };
    // At once, because the line is one for each connection.
    const [fixed, adaptive] = await Promise.all([transfer(4), transfer()]);
    expect([adaptive.most, adaptive.retries]).toEqual([4, 0]);
    expect([fixed.most, fixed.retries]).toEqual([4, 0]);
    expect(adaptive.ms).toBeLessThan(1.2 * fixed.ms);
  }, 180_000);
});
