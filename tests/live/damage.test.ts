import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openBackend, storeOver } from "./stores.ts";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { httpProxy } from "../servers/http-proxy.ts";
import { requireServer } from "../servers/require-server.ts";
import { withRetry } from "@idk/storage";

setDefaultTimeout(90_000);

/** Wrong bytes of the right length, as from a broken disk, a cache or a malicious provider. */
requireServer("minio")("bytes that change between client and disk", () => {
  let bucket: Bucket;
  let damaging = false;
  let gets = 0;
  const content = testContent(3 * MiB, 3);
  const open = (endpoint: string) =>
    openBackend.s3({ endpoint, bucket: bucket.name, keys: bucket.server });

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
  });
  afterAll(() => bucket.remove());

  const tamperingProxy = () =>
    httpProxy(bucket.server.endpoint, {
      tamper({ method, url }, body) {
        const isBlob = /\/[0-9a-f]{64}$/u.test(url.pathname);
        if (!damaging || method !== "GET" || !isBlob || body.length === 0) return;
        gets += 1;
        const at = (gets * 7919) % body.length;
        body[at]! ^= 1 << (gets % 8);
      },
    });

  test("are not released by get, even after retries", async () => {
    using proxy = tamperingProxy();
    await using store = storeOver(
      withRetry(open(proxy.endpoint), { budgetMs: 500, firstDelayMs: 50 }),
      { chunkSize: 256 * 1024 },
    );
    damaging = false;
    const address = await store.put(content.stream());
    const blob = await store.get(address);
    damaging = true;
    for (let round = 0; round < 8; round += 1) {
      const root = failureOf(store.get(address));
      expect(await within(10_000, "get", root)).toMatchObject({ code: "address" });
      let released = 0;
      const chunks = failureOf(
        (async () => {
          for await (const piece of blob.stream()) released += piece.length;
        })(),
      );
      expect(await within(10_000, "get", chunks)).toMatchObject({ code: "address" });
      expect(released).toBe(0);
    }
    damaging = false;
    expect(await sha256Of((await store.get(address)).stream())).toBe(content.sha256);
  });

  test("are rejected by the server on put", async () => {
    // The server receives another body than the one that was signed.
    using proxy = httpProxy(bucket.server.endpoint, {
      respond({ method, body }) {
        if (method === "PUT" && body.length > 0) body[body.length >> 1]! ^= 1;
        return undefined;
      },
    });
    const before = await count(bucket);
    await using store = storeOver(open(proxy.endpoint), { chunkSize: 256 * 1024 });
    const failure = await within(10_000, "put", failureOf(store.put(content.stream())));
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
    expect(await count(bucket)).toBe(before);
  });

  async function count({ server }: Bucket): Promise<number> {
    await using store = storeOver(open(server.endpoint));
    return (await Array.fromAsync(store.list())).length;
  }
});
