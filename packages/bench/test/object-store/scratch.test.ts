import { afterAll, beforeAll, expect, test } from "bun:test";
import { httpProxy } from "../../../../tests/servers/http-proxy.ts";
import { requireServer } from "../../../../tests/servers/require-server.ts";
import {
  type Bucket,
  REGION,
  minioServer,
  newBucket,
} from "../../../../tests/servers/s3-servers.ts";
import { openBackend, withScratch } from "../../src/object-store/scratch.ts";
import { freshName } from "../../src/harness/content.ts";
import type { ObjectStoreAccess } from "../../src/suite.ts";

requireServer("minio")("withScratch", () => {
  let bucket: Bucket;
  beforeAll(async () => {
    bucket = await newBucket(minioServer());
  });
  afterAll(() => bucket.remove());

  const storeAnObject = async (endpoint = bucket.server.endpoint): Promise<string> => {
    const { server, name } = bucket;
    const store = { ...server, endpoint, region: REGION, bucket: name, prefix: "" };
    return withScratch(store, "example", async (scratch) => {
      await putInto(scratch.at("folder"));
      return "result";
    });
  };
  const putInto = async (access: ObjectStoreAccess): Promise<void> => {
    const backend = openBackend(access);
    await backend.put(freshName(), new Uint8Array(10));
    await backend.close?.();
  };

  test("deletes what was stored and returns the result", async () => {
    expect(await storeAnObject()).toBe("result");
  });

  test("fails if a delete did nothing", async () => {
    using proxy = httpProxy(bucket.server.endpoint, {
      respond: ({ method }) =>
        method === "DELETE" ? new Response(null, { status: 204 }) : undefined,
    });
    expect(storeAnObject(proxy.endpoint)).rejects.toThrow(/^1 object left below example-/u);
  });
});
