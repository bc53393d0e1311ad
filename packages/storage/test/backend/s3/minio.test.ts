import { describe, expect, test } from "bun:test";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import { minio, type MinioOptions } from "../../../src/backend/minio.ts";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { bucketForAll, xmlResponse, NAME, objectResponse, OTHER } from "./fixtures.ts";

const BYTES = Buffer.from("opaque bytes");
const KEYS = { bucket: "bucket", accessKey: "access", secretKey: "secret" };

describe("the MinIO endpoint", () => {
  test.each([
    [{ endpoint: "http://minio.example:9010" }, "http://minio.example:9010"],
    [{ host: "minio.example" }, "https://minio.example:9000"],
    [{ host: "minio.example", port: 443 }, "https://minio.example"],
    [{ host: "::1".replace(/.*/u, "[$&]"), port: 9, tls: false }, "http://[::1]:9"],
  ] satisfies [Partial<MinioOptions>, string][])("%p is %p", (options, endpoint) => {
    expect(minio({ ...KEYS, ...options }).description).toBe(`minio bucket at ${endpoint}`);
  });

  test("is set in one way only", () => {
    expect(() => minio(KEYS)).toThrow("either an endpoint, or a host");
    expect(() => minio({ ...KEYS, host: "a", endpoint: "https://a" })).toThrow("either");
  });
});

test("the session token is sent with every request, and is signed", async () => {
  const requests: Headers[] = [];
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ headers, url }) {
      requests.push(headers);
      return url.includes("list-type=2")
        ? xmlResponse("<IsTruncated>false</IsTruncated>")
        : objectResponse();
    },
  });
  const options = { ...KEYS, endpoint: server.url.origin, sessionToken: "token" };
  const backend = minio(options);
  await backend.put(NAME, BYTES);
  await backend.get(NAME, new Uint8Array(1));
  await backend.head(NAME);
  await backend.delete(NAME);
  expect(await Array.fromAsync(backend.list(""))).toEqual([]);
  await initBucket({ provider: "minio", ...options });
  expect(requests).toHaveLength(6);
  for (const headers of requests) {
    expect(headers.get("x-amz-security-token")).toBe("token");
    expect(headers.get("authorization")).toMatch(/SignedHeaders=[^,]*x-amz-security-token/u);
  }
  void server.stop(true);
});

requireServer("minio")("a blob on MinIO", () => {
  const bucket = bucketForAll();
  const open = (options: Partial<MinioOptions> = {}) => {
    const { name, server } = bucket();
    return minio({
      bucket: name,
      endpoint: server.endpoint,
      accessKey: server.accessKeyId,
      secretKey: server.secretAccessKey,
      ...options,
    });
  };

  test("is encrypted at rest on request, and reports it", async () => {
    const encrypted = open({ encryption: { type: "AES256" } });
    await encrypted.put(NAME, BYTES);
    await open().put(OTHER, BYTES);
    expect((await encrypted.head(NAME))?.encryption).toBe("AES256");
    expect((await encrypted.head(OTHER))?.encryption).toBeUndefined();
    expect((await encrypted.capabilities!()).encryption).toBe("AES256");
    expect((await open().capabilities!()).encryption).toBeUndefined();
    const buffer = Buffer.alloc(BYTES.length);
    // Reads need no encryption option.
    await open().get(NAME, buffer);
    expect(buffer).toEqual(BYTES);
  });

  test("keeps its SHA-256 with encryption", async () => {
    const encrypted = open({ encryption: { type: "AES256" } });
    await encrypted.put(NAME, BYTES);
    // Proves that the server verifies it.
    await encrypted.capabilities!();
    expect((await encrypted.head(NAME))?.sha256).toBe(
      new Bun.CryptoHasher("sha256").update(BYTES).digest("hex"),
    );
  });
});
