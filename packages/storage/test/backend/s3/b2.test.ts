import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { b2RulesProxy, type B2RulesProxy } from "../../../../../tests/servers/b2-rules-proxy.ts";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { b2, type B2Options } from "../../../src/backend/b2.ts";
import { b2Config } from "../../../src/backend/b2.ts";
import { rejects } from "../rejects.ts";
import { bucketForAll, NAME } from "./fixtures.ts";

const BYTES = Buffer.from("opaque bytes");
const KEYS = { bucket: "bucket", keyId: "id", applicationKey: "key" };

describe("the B2 region", () => {
  test("determines the endpoint, and the reverse", () => {
    const endpoint = "https://s3.eu-central-003.backblazeb2.com";
    expect(b2({ ...KEYS, region: "eu-central-003" }).description).toBe(`b2 bucket at ${endpoint}`);
    expect(b2Config({ ...KEYS, endpoint }).region).toBe("eu-central-003");
  });

  test.each([
    [{}, "a region or an endpoint"],
    [{ endpoint: "https://s3.example" }, "pass its region too"],
    [{ region: "us-west-004/.." }, "the region is malformed"],
  ] satisfies [Partial<B2Options>, string][])("%p is a wrong call: %p", (options, part) => {
    expect(() => b2({ ...KEYS, ...options })).toThrow(part);
  });
});

requireServer("minio")("b2 behind a B2-like proxy", () => {
  const bucket = bucketForAll({ versioning: true });
  let front: B2RulesProxy;
  let backend: Backend;
  beforeAll(() => {
    const { name, server } = bucket();
    front = b2RulesProxy(server.endpoint);
    backend = b2({
      bucket: name,
      prefix: "store",
      endpoint: front.endpoint,
      region: front.region,
      keyId: server.accessKeyId,
      applicationKey: server.secretAccessKey,
    });
  });
  afterAll(() => front.stop());
  const versions = async () => {
    const { client, name } = bucket();
    const page = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
    return [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].length;
  };

  test("put, get and head are one request each", async () => {
    const before = ["PUT", "GET", "HEAD"].map((method) => front.count(method));
    await backend.put(NAME, BYTES);
    await backend.get(NAME, new Uint8Array(100));
    expect(await backend.head(NAME)).toEqual({ size: BYTES.length, storedAt: expect.any(Number) });
    const after = ["PUT", "GET", "HEAD"].map((method) => front.count(method));
    expect(after.map((count, i) => count - before[i]!)).toEqual([1, 1, 1]);
    await backend.delete(NAME);
  });

  test("delete removes all versions by their IDs and leaves no delete marker", async () => {
    for (let i = 0; i < 3; i++) await backend.put(NAME, BYTES);
    expect(await versions()).toBe(3);
    const before = front.count("DELETE");
    await backend.delete(NAME);
    expect(front.count("DELETE") - before).toBe(3);
    expect(await versions()).toBe(0);
  });

  test("capabilities are limited, and nothing is left behind", async () => {
    expect(await backend.capabilities!()).toEqual({
      verifiesChecksums: false,
      conditionalPut: false,
      versions: true,
      encryption: undefined,
    });
    expect(await versions()).toBe(0);
  });

  test("SlowDown is transient and keeps the requested delay", async () => {
    for (const call of [
      () => backend.put(NAME, BYTES),
      () => backend.get(NAME, new Uint8Array(1)),
      () => backend.head(NAME),
      () => backend.delete(NAME),
      () => Array.fromAsync(backend.list("")),
    ]) {
      front.slowDown(1, 3);
      const error = await rejects(call(), "unavailable", "busy");
      expect(error).toMatchObject({ transient: true, retryAfterMs: 3000 });
    }
  });

  test("a failure of `capabilities` is not cached", async () => {
    const { name, server } = bucket();
    const fresh = b2({
      bucket: name,
      endpoint: front.endpoint,
      region: front.region,
      keyId: server.accessKeyId,
      applicationKey: server.secretAccessKey,
    });
    front.slowDown(1);
    const calls = [fresh.capabilities!(), fresh.capabilities!()];
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe("rejected");
    const before = front.count("PUT");
    const [one, other] = await Promise.all([fresh.capabilities!(), fresh.capabilities!()]);
    expect(one).toBe(other);
    expect(await fresh.capabilities!()).toBe(one);
    // One with a wrong checksum, one to inspect.
    expect(front.count("PUT") - before).toBe(2);
  });
});
