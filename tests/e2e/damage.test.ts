import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openers, storeOver } from "./stores.ts";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { httpFront } from "../servers/http-front.ts";
import { needs } from "../servers/needs.ts";
import { withRetry } from "@idk/storage";

setDefaultTimeout(90_000);

/** Wrong bytes of the right length, as a broken disk, a cache or a store that lies gives them. */
needs("minio")("a store that gives other bytes than it was given", () => {
  let bucket: Bucket;
  let damaging = false;
  let gets = 0;
  const content = testContent(3 * MiB, 3);
  const open = (endpoint: string) =>
    openers.s3({ endpoint, bucket: bucket.name, keys: bucket.server });

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
  });
  afterAll(() => bucket.remove());

  const liar = () =>
    httpFront(bucket.server.endpoint, {
      tamper({ method, url }, body) {
        const isBlob = /\/[0-9a-f]{64}$/u.test(url.pathname);
        if (!damaging || method !== "GET" || !isBlob || body.length === 0) return;
        gets += 1;
        const at = (gets * 7919) % body.length;
        body[at]! ^= 1 << (gets % 8);
      },
    });

  test("nothing of it is released, and retries do not help", async () => {
    using front = liar();
    await using store = storeOver(
      withRetry(open(front.endpoint), { budgetMs: 500, firstDelayMs: 50 }),
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

  test("uploads that are damaged on the way are refused by the server", async () => {
    // Behind this front the request is another than the one that was signed.
    using front = httpFront(bucket.server.endpoint, {
      answer({ method, body }) {
        if (method === "PUT" && body.length > 0) body[body.length >> 1]! ^= 1;
        return undefined;
      },
    });
    const before = await count(bucket);
    await using store = storeOver(open(front.endpoint), { chunkSize: 256 * 1024 });
    const failure = await within(10_000, "put", failureOf(store.put(content.stream())));
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
    expect(await count(bucket)).toBe(before);
  });

  async function count({ server }: Bucket): Promise<number> {
    await using store = storeOver(open(server.endpoint));
    return (await Array.fromAsync(store.list())).length;
  }
});
