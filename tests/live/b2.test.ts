import { type B2RulesProxy, b2RulesProxy } from "../servers/b2-rules-proxy.ts";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { StorageError, withRetry } from "@idk/storage";
import { B2_RETRY } from "@idk/storage/b2";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { openBackend, storeOver } from "./stores.ts";
import { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { requireServer } from "../servers/require-server.ts";

setDefaultTimeout(90_000);

requireServer("minio")("a store over B2's rules", () => {
  let bucket: Bucket;
  let proxy: B2RulesProxy;
  const content = testContent(6 * MiB, 8);
  const backend = () =>
    openBackend.b2({
      endpoint: proxy.endpoint,
      region: proxy.region,
      bucket: bucket.name,
      keys: bucket.server,
    });

  beforeAll(async () => {
    bucket = await newBucket(minioServer(), { versioning: true });
    proxy = b2RulesProxy(bucket.server.endpoint);
  });
  afterAll(async () => {
    await proxy.stop();
    await bucket.remove();
  });

  test("stores content without conditional writes or checksum headers", async () => {
    await using store = storeOver(backend(), { chunkSize: MiB });
    const address = await store.put(content.stream());
    expect(await sha256Of((await store.get(address)).stream())).toBe(content.sha256);
    expect(await store.verify(address, { deep: true })).toMatchObject({ kind: "root" });
  });

  test("stores content under a dedup secret", async () => {
    const dedupSecret = new Uint8Array(32).fill(3);
    await using store = storeOver(backend(), { chunkSize: MiB, dedupSecret });
    for (let round = 0; round < 2; round += 1) {
      const address = await store.put(content.stream());
      expect(await sha256Of((await store.get(address)).stream())).toBe(content.sha256);
    }
  });

  test("deletes all versions, although a plain delete only hides the object", async () => {
    await using store = storeOver(backend());
    const address = await store.put("to be removed");
    await store.delete(address);
    expect(await store.has(address)).toBe(false);
    const versions = await bucket.client.send(
      new ListObjectVersionsCommand({ Bucket: bucket.name, Prefix: address }),
    );
    expect([...(versions.Versions ?? []), ...(versions.DeleteMarkers ?? [])]).toEqual([]);
  });

  test("reports a 503 as transient, with its Retry-After", async () => {
    await using store = storeOver(backend());
    proxy.slowDown(1, 7);
    const failure = await failureOf(store.put("later"));
    expect(failure).toMatchObject({ code: "unavailable", transient: true, retryAfterMs: 7000 });
  });

  /** A clock that only sleeping advances, and what was slept. */
  function virtualClock() {
    const waits: number[] = [];
    let time = 0;
    const clock = {
      now: () => time,
      random: () => 0.5,
      async sleep(ms: number) {
        waits.push(ms);
        time += ms;
      },
    };
    return { clock, waits };
  }

  test("retries until a burst of 503 ends", async () => {
    const { clock, waits } = virtualClock();
    await using store = storeOver(withRetry(backend(), {}, clock), { chunkSize: MiB });
    proxy.slowDown(6, 1);
    const address = await within(30_000, "put", store.put(content.stream()));
    expect(waits.length).toBe(6);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1000);
    proxy.slowDown(6, 1);
    const read = store.get(address).then(async (blob) => sha256Of(blob.stream()));
    expect(await within(60_000, "get", read)).toBe(content.sha256);
    expect(waits.length).toBe(12);
  });

  test("tries eight times with B2_RETRY, however long the Retry-After", async () => {
    const { clock, waits } = virtualClock();
    await using store = storeOver(withRetry(backend(), B2_RETRY, clock));
    proxy.slowDown(7, 10);
    const address = await store.put("retried");
    expect(await (await store.get(address)).text()).toBe("retried");
    // The Retry-After plus half of a backoff that doubles from one second up to its maximum.
    expect(waits).toEqual([10_500, 11_000, 12_000, 14_000, 18_000, 20_000, 20_000]);

    proxy.slowDown(8, 10);
    expect(await failureOf(store.put("too late"))).toMatchObject({ code: "unavailable" });
    // The default policy stops after a minute.
    await using withDefault = storeOver(withRetry(backend(), {}, clock));
    proxy.slowDown(7, 10);
    expect(await failureOf(withDefault.put("too late"))).toMatchObject({ code: "unavailable" });
    proxy.slowDown(0);
  });

  test("stops retrying when the retry budget is spent", async () => {
    await using store = storeOver(withRetry(backend(), { budgetMs: 1500, minAttempts: 1 }));
    proxy.slowDown(Number.POSITIVE_INFINITY, 1);
    const failure = await within(20_000, "put", failureOf(store.put("never")));
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
    proxy.slowDown(0);
  });
});
