import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { openBackend, storeOver } from "./stores.ts";
import { httpProxy } from "../servers/http-proxy.ts";
import { requireServer } from "../servers/require-server.ts";
import type { Store } from "@idk/storage";

setDefaultTimeout(90_000);

/** With a dedup secret, a second run produces the same blobs and skips those already stored. */
requireServer("minio")("an interrupted put with a dedup secret", () => {
  let bucket: Bucket;
  const content = testContent(64 * MiB, 7);
  const options = { chunkSize: MiB, dedupSecret: new Uint8Array(32).fill(9) };

  beforeEach(async () => {
    bucket = await newBucket(minioServer());
  });
  afterEach(() => bucket.remove());

  test("uploads only missing blobs when it is run again", async () => {
    const open = (endpoint: string) =>
      storeOver(openBackend.s3({ endpoint, bucket: bucket.name, keys: bucket.server }), options);
    await using direct = open(bucket.server.endpoint);

    // A server that rejects every upload after this many.
    let left = 40;
    using failing = httpProxy(bucket.server.endpoint, {
      respond({ method }) {
        if (method !== "PUT" || left-- > 0) return undefined;
        return new Response("<Error><Code>InternalError</Code></Error>", { status: 500 });
      },
    });
    await using first = open(failing.endpoint);
    const failure = await within(80_000, "put", failureOf(first.put(content.stream())));
    expect(failure).toMatchObject({ code: "unavailable", transient: true });
    await failing.idle();
    const before = await names(direct);
    expect(before.size).toBeGreaterThan(30);

    // The names that the second run uploads: besides blobs, it may probe the server's capabilities.
    const sent: string[] = [];
    using watching = httpProxy(bucket.server.endpoint, {
      respond({ method, url }) {
        if (method === "PUT") sent.push(url.pathname.split("/").at(-1)!);
        return undefined;
      },
    });
    await using second = open(watching.endpoint);
    const address = await within(80_000, "put", second.put(content.stream()));
    expect(sent.filter((name) => before.has(name))).toEqual([]);
    for (const name of await names(direct)) {
      if (!before.has(name)) expect(sent.filter((it) => it === name)).toEqual([name]);
    }
    expect(await sha256Of((await direct.get(address)).stream())).toBe(content.sha256);

    sent.length = 0;
    const third = await second.put(content.stream());
    // Nothing but the root, however it is written.
    expect(sent.filter((name) => name !== third)).toEqual([]);
  });

  async function names(store: Store): Promise<Set<string>> {
    return new Set((await Array.fromAsync(store.list())).map(({ address }) => address));
  }
});
