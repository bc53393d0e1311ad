import { type B2Front, b2Front } from "../servers/b2-front.ts";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { StorageError, withRetry } from "@idk/storage";
import { B2_RETRY } from "@idk/storage/b2";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { openers, storeOver } from "./stores.ts";
import { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { needs } from "../servers/needs.ts";

setDefaultTimeout(90_000);

needs("minio")("a store like B2", () => {
  let bucket: Bucket;
  let front: B2Front;
  const content = testContent(6 * MiB, 8);
  const backend = () =>
    openers.b2({
      endpoint: front.endpoint,
      region: front.region,
      bucket: bucket.name,
      keys: bucket.server,
    });

  beforeAll(async () => {
    bucket = await newBucket(minioServer(), { versioning: true });
    front = b2Front(bucket.server.endpoint);
  });
  afterAll(async () => {
    await front.stop();
    await bucket.remove();
  });

  test("keeps content, without conditional writes or checksum headers", async () => {
    await using store = storeOver(backend(), { chunkSize: MiB });
    const address = await store.put(content.stream());
    expect(await sha256Of((await store.get(address)).stream())).toBe(content.sha256);
    expect(await store.verify(address, { deep: true })).toMatchObject({ kind: "root" });
  });

  test("works with a dedup secret, too", async () => {
    const dedupSecret = new Uint8Array(32).fill(3);
    await using store = storeOver(backend(), { chunkSize: MiB, dedupSecret });
    for (let round = 0; round < 2; round += 1) {
      const address = await store.put(content.stream());
      expect(await sha256Of((await store.get(address)).stream())).toBe(content.sha256);
    }
  });

  test("removes for good, where a plain delete only hides", async () => {
    await using store = storeOver(backend());
    const address = await store.put("to be removed");
    await store.delete(address);
    expect(await store.has(address)).toBe(false);
    const versions = await bucket.client.send(
      new ListObjectVersionsCommand({ Bucket: bucket.name, Prefix: address }),
    );
    expect([...(versions.Versions ?? []), ...(versions.DeleteMarkers ?? [])]).toEqual([]);
  });

  test("says that it is busy, and when to come again", async () => {
    await using store = storeOver(backend());
    front.slowDown(1, 7);
    const failure = await failureOf(store.put("later"));
    expect(failure).toMatchObject({ code: "unavailable", transient: true, retryAfterMs: 7000 });
  });

  test("is outlasted in a burst of 503", async () => {
    const waits: number[] = [];
    await using store = storeOver(
      withRetry(backend(), { onRetry: ({ delayMs }) => waits.push(delayMs) }),
      { chunkSize: MiB },
    );
    front.slowDown(6, 1);
    const address = await within(30_000, "put", store.put(content.stream()));
    expect(waits.length).toBe(6);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1000);
    front.slowDown(6, 1);
    const read = store.get(address).then(async (blob) => sha256Of(blob.stream()));
    expect(await within(60_000, "get", read)).toBe(content.sha256);
  });

  test("is asked eight times, whatever time it asks for", async () => {
    const waits: number[] = [];
    // A clock that only waits move.
    let time = 0;
    const clock = {
      now: () => time,
      random: () => 0.5,
      async sleep(ms: number) {
        waits.push(ms);
        time += ms;
      },
    };
    await using store = storeOver(withRetry(backend(), B2_RETRY, clock));
    front.slowDown(7, 10);
    const address = await store.put("patience");
    expect(await (await store.get(address)).text()).toBe("patience");
    // What it asks for, and half of what doubles from a second up to the longest.
    expect(waits).toEqual([10_500, 11_000, 12_000, 14_000, 18_000, 20_000, 20_000]);

    front.slowDown(8, 10);
    expect(await failureOf(store.put("too late"))).toMatchObject({ code: "unavailable" });
    // The default gives up when its minute is over.
    await using hasty = storeOver(withRetry(backend(), {}, clock));
    front.slowDown(7, 10);
    expect(await failureOf(hasty.put("too late"))).toMatchObject({ code: "unavailable" });
    front.slowDown(0);
  });

  test("is given up where it stays busy", async () => {
    await using store = storeOver(withRetry(backend(), { budgetMs: 1500, minAttempts: 1 }));
    front.slowDown(Number.POSITIVE_INFINITY, 1);
    const failure = await within(20_000, "put", failureOf(store.put("never")));
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
    front.slowDown(0);
  });
});
